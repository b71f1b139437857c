#include "image/symbols.hpp"

#include "os/fork_locks.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <mutex>
#include <utility>

namespace optctx::image {
namespace {

os::ForkSafeMutex working(os::Rank::symbols);  // held while any library's index is built

bool is_function(const Elf64_Sym& entry) { return ELF64_ST_TYPE(entry.st_info) == STT_FUNC; }

bool counts(const Elf64_Sym& entry) {
    return entry.st_shndx != SHN_UNDEF && (is_function(entry) || ELF64_ST_TYPE(entry.st_info) == STT_OBJECT);
}

// Without the `.llvm.1234` that clang appends to what it makes visible to other files while it links (ThinLTO).
std::string_view without_suffix(std::string_view name) {
    constexpr std::string_view mark = ".llvm.";
    const std::size_t last = name.find_last_not_of("0123456789");
    if (last == std::string_view::npos || last + 1 == name.size()) return name;
    const std::string_view head = name.substr(0, last + 1);
    return head.ends_with(mark) ? head.substr(0, head.size() - mark.size()) : name;
}

std::uint8_t tag_of(std::size_t hash) { return static_cast<std::uint8_t>(hash >> 56); }

}  // namespace

void SymbolIndex::open(const SymbolTable& table, std::uintptr_t base, std::vector<FunctionSpan> functions) {
    table_ = table;
    base_ = base;
    functions_ = std::move(functions);
}

void SymbolIndex::add(const std::vector<AddedSymbol>& symbols) {
    const std::size_t known = added_.size();
    for (const AddedSymbol& each : symbols)
        if (std::find(added_.begin(), added_.begin() + known, each) == added_.begin() + known) added_.push_back(each);
    forget();
}

Elf64_Sym SymbolIndex::entry(std::uint32_t number) const {
    if (number < table_.symbols.size()) return table_.symbols[number];
    Elf64_Sym made{};
    made.st_shndx = SHN_ABS;  // defined
    std::size_t at = number - table_.symbols.size();
    bool is_function = true;
    if (at < functions_.size()) {
        made.st_value = functions_[at].begin;
        made.st_size = functions_[at].size;
    } else {
        at -= functions_.size();
        made.st_value = added_[at].address;
        made.st_size = added_[at].size;
        is_function = added_[at].is_function;
    }
    made.st_info = is_function ? STT_FUNC : STT_OBJECT;  // local
    return made;
}

std::string_view SymbolIndex::name_of(std::uint32_t number) const {
    const std::size_t named = table_.symbols.size();
    if (number < named) return without_suffix(table_.strings + table_.symbols[number].st_name);
    return number < named + functions_.size() ? made_name(number) : added_[number - named - functions_.size()].name;
}

// For people: as disassemblers show where the function is.
std::string_view SymbolIndex::made_name(std::uint32_t number) const {
    const std::lock_guard lock(working);
    std::string& name = made_names_[number];
    if (name.empty()) name = "function at " + os::hex(entry(number).st_value);
    return name;
}

std::shared_ptr<const SymbolIndex::Names> SymbolIndex::names() const {
    const std::lock_guard lock(working);
    if (names_ == nullptr) {
        auto made = std::make_shared<Names>();
        const std::size_t unnamed = table_.symbols.size();
        const std::size_t named = count() - functions_.size();
        made->places.assign(std::bit_ceil(named + named / 2 + 1), 0);
        made->tags.assign(made->places.size(), 0);
        for (std::uint32_t number = 1; number < count(); ++number) {  // 0 is reserved
            if (number - unnamed < functions_.size() || !counts(entry(number))) continue;
            const std::string_view name = name_of(number);
            const std::size_t hash = std::hash<std::string_view>()(name);
            const std::size_t place = place_of(*made, name, hash);
            if (made->places[place] != 0) continue;  // of several local symbols with one name, the first counts
            made->places[place] = number;
            made->tags[place] = tag_of(hash);
        }
        names_ = std::move(made);
    }
    return names_;
}

std::shared_ptr<const SymbolIndex::Addresses> SymbolIndex::addresses() const {
    const std::lock_guard lock(working);
    if (addresses_ == nullptr) {
        auto made = std::make_shared<Addresses>();
        const auto take = [&](std::size_t first, std::size_t end) {
            for (auto number = static_cast<std::uint32_t>(first); number < end; ++number)
                if (const Elf64_Sym each = entry(number); counts(each))
                    (is_function(each) ? made->functions : made->objects).push_back(number);
        };
        const std::size_t unnamed = table_.symbols.size(), added = unnamed + functions_.size();
        take(unnamed, added);  // of symbols at one address the last one that is taken counts
        take(1, unnamed);
        take(added, count());
        for (Numbers* numbers : {&made->functions, &made->objects}) {
            std::vector<std::pair<Elf64_Addr, std::size_t>> order;  // an address, and where it is among the numbers
            order.reserve(numbers->size());
            for (const std::uint32_t number : *numbers) order.emplace_back(entry(number).st_value, order.size());
            std::ranges::sort(order);
            Numbers sorted;
            sorted.reserve(order.size());
            for (const auto& [address, at] : order) sorted.push_back((*numbers)[at]);
            *numbers = std::move(sorted);
        }
        addresses_ = std::move(made);
    }
    return addresses_;
}

void SymbolIndex::forget() {
    const std::lock_guard lock(working);
    names_.reset();
    addresses_.reset();
}

Symbol SymbolIndex::symbol(std::uint32_t number) const {
    const Elf64_Sym& own = entry(number);
    return {base_ + own.st_value, own.st_size, name_of(number), number};
}

std::optional<Symbol> SymbolIndex::numbered(std::uint32_t number) const {
    if (number == 0 || number >= count() || !counts(entry(number))) return std::nullopt;
    return symbol(number);
}

// The place that holds the name, or the free place where it belongs.
std::size_t SymbolIndex::place_of(const Names& names, std::string_view name, std::size_t hash) const {
    const Numbers& places = names.places;
    std::size_t place = hash & (places.size() - 1);
    while (places[place] != 0 && (names.tags[place] != tag_of(hash) || name_of(places[place]) != name))
        place = (place + 1) & (places.size() - 1);
    return place;
}

std::optional<Symbol> SymbolIndex::named(std::string_view name) const {
    const auto known = names();
    const std::uint32_t number = known->places[place_of(*known, name, std::hash<std::string_view>()(name))];
    if (number == 0) return std::nullopt;
    return symbol(number);
}

std::optional<Symbol> SymbolIndex::function_at(std::uintptr_t address) const {
    return containing(addresses()->functions, address);
}

std::optional<Symbol> SymbolIndex::object_at(std::uintptr_t address) const {
    return containing(addresses()->objects, address);
}

std::optional<Symbol> SymbolIndex::containing(const Numbers& sorted, std::uintptr_t address) const {
    auto next = std::upper_bound(sorted.begin(), sorted.end(), address, [this](std::uintptr_t a, std::uint32_t number) {
        return a < base_ + entry(number).st_value;
    });
    constexpr int back = 8;
    for (int i = 0; i < back && next != sorted.begin(); ++i) {
        --next;
        const Elf64_Sym& found = entry(*next);
        if (address - (base_ + found.st_value) < found.st_size) return symbol(*next);
    }
    return std::nullopt;
}

// One pass for all patterns, in table order, because names are stored in that order. Many names begin alike, so the
// last character of a prefix is compared first.
std::vector<std::vector<Symbol>> SymbolIndex::functions_named(const Patterns& patterns) const {
    std::vector<std::vector<Symbol>> found(patterns.size());
    for (std::uint32_t number = 1; number < table_.symbols.size(); ++number) {
        if (!counts(table_.symbols[number]) || !is_function(table_.symbols[number])) continue;
        const std::string_view name = name_of(number);
        for (std::size_t i = 0; i < patterns.size(); ++i) {
            const auto& [prefix, infix] = patterns[i];
            if (name.size() < prefix.size() || (!prefix.empty() && name[prefix.size() - 1] != prefix.back())) continue;
            if (name.starts_with(prefix) && name.find(infix, prefix.size()) != std::string_view::npos)
                found[i].push_back(symbol(number));
        }
    }
    for (auto& each : found)
        std::stable_sort(each.begin(), each.end(),
                         [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
    return found;
}

}  // namespace optctx::image

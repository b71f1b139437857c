#include "image/symbols.hpp"

#include "os/fork_locks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

namespace optctx::image {
namespace {

os::ForkSafeMutex working(os::Rank::symbols);  // the indexes of all libraries

bool is_function(const Elf64_Sym& entry) { return ELF64_ST_TYPE(entry.st_info) == STT_FUNC; }

}  // namespace

void SymbolIndex::open(const Elf64_Sym* symbols, std::size_t count, const char* strings, std::uintptr_t base) {
    symbols_ = symbols;
    count_ = count;
    strings_ = strings;
    base_ = base;
}

bool SymbolIndex::counts(const Elf64_Sym& entry) const {
    return entry.st_shndx != SHN_UNDEF && (is_function(entry) || ELF64_ST_TYPE(entry.st_info) == STT_OBJECT);
}

void SymbolIndex::need_names() const {
    if (has_names_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(working);
    if (has_names_.load(std::memory_order_relaxed)) return;
    names_.assign(std::bit_ceil(count_ + count_ / 2 + 1), 0);
    size_ = 0;
    for (std::uint32_t number = 1; number < count_; ++number)  // the first is none
        if (counts(symbols_[number])) add_name(number);
    has_names_.store(true, std::memory_order_release);
}

void SymbolIndex::need_addresses() const {
    if (has_addresses_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(working);
    if (has_addresses_.load(std::memory_order_relaxed)) return;
    Numbers functions, objects;
    for (std::uint32_t number = 1; number < count_; ++number)
        if (counts(symbols_[number])) (is_function(symbols_[number]) ? functions : objects).push_back(number);
    for (Numbers* numbers : {&functions, &objects}) {
        numbers->shrink_to_fit();
        std::stable_sort(numbers->begin(), numbers->end(), [this](std::uint32_t a, std::uint32_t b) {
            return symbols_[a].st_value < symbols_[b].st_value;
        });
    }
    functions_ = std::move(functions);
    objects_ = std::move(objects);
    has_addresses_.store(true, std::memory_order_release);
}

Symbol SymbolIndex::symbol(std::uint32_t number) const {
    const Elf64_Sym& entry = symbols_[number];
    return {base_ + entry.st_value, entry.st_size, strings_ + entry.st_name, number};
}

std::optional<Symbol> SymbolIndex::numbered(std::uint32_t number) const {
    if (number == 0 || number >= count_ || !counts(symbols_[number])) return std::nullopt;
    return symbol(number);
}

std::size_t SymbolIndex::size() const {
    need_names();
    return size_;
}

// The place of the name, or the free one where it would be.
std::size_t SymbolIndex::place_of(std::string_view name) const {
    std::size_t place = std::hash<std::string_view>()(name) & (names_.size() - 1);
    while (names_[place] != 0 && strings_ + symbols_[names_[place]].st_name != name)
        place = (place + 1) & (names_.size() - 1);
    return place;
}

// Of several symbols with one name (local ones) the first counts.
void SymbolIndex::add_name(std::uint32_t number) const {
    std::uint32_t& place = names_[place_of(strings_ + symbols_[number].st_name)];
    if (place != 0) return;
    place = number;
    ++size_;
}

std::optional<std::uintptr_t> SymbolIndex::address_of(std::string_view name) const {
    need_names();
    const std::uint32_t number = names_[place_of(name)];
    if (number == 0) return std::nullopt;
    return symbol(number).address;
}

std::optional<Symbol> SymbolIndex::function_at(std::uintptr_t address) const {
    need_addresses();
    return containing(functions_, address);
}

std::optional<Symbol> SymbolIndex::object_at(std::uintptr_t address) const {
    need_addresses();
    return containing(objects_, address);
}

std::optional<Symbol> SymbolIndex::containing(const Numbers& sorted, std::uintptr_t address) const {
    auto next = std::upper_bound(sorted.begin(), sorted.end(), address, [this](std::uintptr_t a, std::uint32_t number) {
        return a < base_ + symbols_[number].st_value;
    });
    constexpr int back = 8;
    for (int i = 0; i < back && next != sorted.begin(); ++i) {
        --next;
        const Symbol found = symbol(*next);
        if (address - found.address < found.size) return found;
    }
    return std::nullopt;
}

// One pass for all patterns: what takes the time is to fetch the names from memory.
std::vector<std::vector<Symbol>> SymbolIndex::functions_named(const Patterns& patterns) const {
    need_addresses();
    std::vector<std::vector<Symbol>> found(patterns.size());
    for (const std::uint32_t number : functions_) {
        const char* const name = strings_ + symbols_[number].st_name;
        for (std::size_t i = 0; i < patterns.size(); ++i) {
            const auto& [prefix, infix] = patterns[i];
            if (std::strncmp(name, prefix.c_str(), prefix.size()) == 0 &&
                std::strstr(name + prefix.size(), infix.c_str()) != nullptr)
                found[i].push_back(symbol(number));
        }
    }
    return found;
}

}  // namespace optctx::image

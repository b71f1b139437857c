#include "image/symbols.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

namespace optctx::image {

SymbolIndex::SymbolIndex(const Elf64_Sym* symbols, std::size_t count, const char* strings, std::uintptr_t base)
    : symbols_(symbols), strings_(strings), base_(base), names_(std::bit_ceil(count + count / 2 + 1)) {
    for (std::uint32_t number = 1; number < count; ++number) {  // the first is none
        const Elf64_Sym& entry = symbols[number];
        const int type = ELF64_ST_TYPE(entry.st_info);
        if (entry.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_OBJECT)) continue;
        add_name(number);
        (type == STT_FUNC ? functions_ : objects_).push_back(number);
    }
    for (Numbers* numbers : {&functions_, &objects_}) {
        numbers->shrink_to_fit();
        std::stable_sort(numbers->begin(), numbers->end(), [symbols](std::uint32_t a, std::uint32_t b) {
            return symbols[a].st_value < symbols[b].st_value;
        });
    }
}

Symbol SymbolIndex::symbol(std::uint32_t number) const {
    const Elf64_Sym& entry = symbols_[number];
    return {base_ + entry.st_value, entry.st_size, strings_ + entry.st_name};
}

// The place of the name, or the free one where it would be.
std::size_t SymbolIndex::place_of(std::string_view name) const {
    std::size_t place = std::hash<std::string_view>()(name) & (names_.size() - 1);
    while (names_[place] != 0 && strings_ + symbols_[names_[place]].st_name != name)
        place = (place + 1) & (names_.size() - 1);
    return place;
}

// Of several symbols with one name (local ones) the first counts.
void SymbolIndex::add_name(std::uint32_t number) {
    std::uint32_t& place = names_[place_of(strings_ + symbols_[number].st_name)];
    if (place != 0) return;
    place = number;
    ++size_;
}

std::optional<std::uintptr_t> SymbolIndex::address_of(std::string_view name) const {
    if (names_.empty()) return std::nullopt;
    const std::uint32_t number = names_[place_of(name)];
    if (number == 0) return std::nullopt;
    return symbol(number).address;
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

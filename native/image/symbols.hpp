// What an ELF file names: functions and objects, by name and by address.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace optctx::image {

struct Symbol {
    std::uintptr_t address;
    std::size_t size;  // bytes
    std::string_view name;
};

// An index of a symbol table that stays where it is, in the mapped file: 12 bytes a symbol, a tenth of a copy with its
// names. The table has to outlive the index.
class SymbolIndex {
public:
    SymbolIndex() = default;
    // Of the `count` symbols at `symbols` whose names are in `strings`, of a library loaded at `base`.
    SymbolIndex(const Elf64_Sym* symbols, std::size_t count, const char* strings, std::uintptr_t base);

    std::size_t size() const noexcept { return size_; }
    std::optional<std::uintptr_t> address_of(std::string_view name) const;
    // Symbols may nest or share an address: the containing one that starts last.
    std::optional<Symbol> function_at(std::uintptr_t address) const { return containing(functions_, address); }
    std::optional<Symbol> object_at(std::uintptr_t address) const { return containing(objects_, address); }
    // For each (prefix, infix), the functions whose name starts with the one and holds the other, by address.
    using Patterns = std::vector<std::pair<std::string, std::string>>;
    std::vector<std::vector<Symbol>> functions_named(const Patterns& patterns) const;

private:
    using Numbers = std::vector<std::uint32_t>;  // places in the table
    Symbol symbol(std::uint32_t number) const;
    std::optional<Symbol> containing(const Numbers& sorted, std::uintptr_t address) const;
    void add_name(std::uint32_t number);
    std::size_t place_of(std::string_view name) const;

    const Elf64_Sym* symbols_ = nullptr;
    const char* strings_ = nullptr;
    std::uintptr_t base_ = 0;
    std::size_t size_ = 0;  // distinct names
    Numbers functions_;     // by address
    Numbers objects_;
    Numbers names_;  // open addressing by the hash of the name, a power of two of them; 0 where there is none
};

}  // namespace optctx::image

// What an ELF file names: functions and objects, by name and by address.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
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
    std::uint32_t number = 0;  // its place in the table; 0: none
};

// An index of a symbol table that stays where it is, in the mapped file: 12 bytes a symbol, a tenth of a copy with its
// names. The table has to outlive the index. What an answer needs is worked out at the first question of its kind: a
// process that attaches by what is kept of an earlier one asks few.
class SymbolIndex {
public:
    SymbolIndex() = default;
    SymbolIndex(const SymbolIndex&) = delete;
    SymbolIndex& operator=(const SymbolIndex&) = delete;
    // Sets the `count` symbols at `symbols` whose names are in `strings`, of a library loaded at `base`. Once.
    void open(const Elf64_Sym* symbols, std::size_t count, const char* strings, std::uintptr_t base);

    std::size_t size() const;
    std::optional<std::uintptr_t> address_of(std::string_view name) const;
    std::optional<Symbol> named(std::string_view name) const;
    // The symbol in that place of the table, if it is a function or an object of this library.
    std::optional<Symbol> numbered(std::uint32_t number) const;
    // Symbols may nest or share an address: the containing one that starts last.
    std::optional<Symbol> function_at(std::uintptr_t address) const;
    std::optional<Symbol> object_at(std::uintptr_t address) const;
    // For each (prefix, infix), the functions whose name starts with the one and holds the other, by address.
    using Patterns = std::vector<std::pair<std::string, std::string>>;
    std::vector<std::vector<Symbol>> functions_named(const Patterns& patterns) const;

    // Frees what was worked out. Answers that were given stay good.
    void forget();

private:
    using Numbers = std::vector<std::uint32_t>;  // places in the table
    struct Names {
        std::size_t count = 0;  // distinct ones
        Numbers places;  // open addressing by the hash of the name, a power of two of them; 0 where there is none
        std::vector<std::uint8_t> tags;  // of the hash in each place: most other names differ without being fetched
    };
    struct Addresses {
        Numbers functions;  // by address
        Numbers objects;
    };
    Symbol symbol(std::uint32_t number) const;
    std::optional<Symbol> containing(const Numbers& sorted, std::uintptr_t address) const;
    std::shared_ptr<const Names> names() const;
    std::shared_ptr<const Addresses> addresses() const;
    void add(Names& names, std::uint32_t number) const;
    std::size_t place_of(const Names& names, std::string_view name, std::size_t hash) const;

    const Elf64_Sym* symbols_ = nullptr;
    std::size_t count_ = 0;
    const char* strings_ = nullptr;
    std::uintptr_t base_ = 0;
    mutable std::shared_ptr<const Names> names_;  // both guarded by a lock of all indexes
    mutable std::shared_ptr<const Addresses> addresses_;
};

}  // namespace optctx::image

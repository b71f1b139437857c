// The functions and objects that an ELF file names, by name and by address.
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
    std::size_t size;          // bytes
    std::string_view name;     // without a suffix of ThinLTO's
    std::uint32_t number = 0;  // its index in the symbol table; 0: none
};

// An index over a symbol table in the mapped file: 12 bytes a symbol, a tenth of what a copy with its names takes. The
// table must outlive the index. Each part is built by the first query that needs it: a process that attaches from what
// an earlier one kept makes few.
class SymbolIndex {
public:
    SymbolIndex() = default;
    SymbolIndex(const SymbolIndex&) = delete;
    SymbolIndex& operator=(const SymbolIndex&) = delete;
    // Takes `count` symbols at `symbols`, whose names are in `strings`, of a library loaded at `base`. Called once.
    void open(const Elf64_Sym* symbols, std::size_t count, const char* strings, std::uintptr_t base);

    std::optional<Symbol> named(std::string_view name) const;
    // The symbol at that index of the table, if it is a function or an object that this library defines.
    std::optional<Symbol> numbered(std::uint32_t number) const;
    // Symbols may nest or share an address: returns the one that starts last of those that contain it.
    std::optional<Symbol> function_at(std::uintptr_t address) const;
    std::optional<Symbol> object_at(std::uintptr_t address) const;
    // For each (prefix, infix), the functions whose names start with the one and contain the other, by address.
    using Patterns = std::vector<std::pair<std::string, std::string>>;
    std::vector<std::vector<Symbol>> functions_named(const Patterns& patterns) const;

    // Frees what was built. Symbols that were returned stay valid.
    void forget();

private:
    using Numbers = std::vector<std::uint32_t>;  // indices of the symbol table
    struct Names {
        Numbers places;                  // an open-addressing hash table, a power of two long; 0 is a free place
        std::vector<std::uint8_t> tags;  // a byte of the hash in each place, which spares reading most other names
    };
    struct Addresses {
        Numbers functions;  // by address
        Numbers objects;
    };
    Symbol symbol(std::uint32_t number) const;
    std::string_view name_of(std::uint32_t number) const;
    std::optional<Symbol> containing(const Numbers& sorted, std::uintptr_t address) const;
    std::shared_ptr<const Names> names() const;
    std::shared_ptr<const Addresses> addresses() const;
    void add(Names& names, std::uint32_t number) const;
    std::size_t place_of(const Names& names, std::string_view name, std::size_t hash) const;

    const Elf64_Sym* symbols_ = nullptr;
    std::size_t count_ = 0;
    const char* strings_ = nullptr;
    std::uintptr_t base_ = 0;
    mutable std::shared_ptr<const Names> names_;  // both guarded by one lock for all indexes
    mutable std::shared_ptr<const Addresses> addresses_;
};

}  // namespace optctx::image

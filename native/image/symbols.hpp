// The functions and objects that an ELF file names, by name and by address.
#pragma once

#include "image/elf_file.hpp"

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace optctx::image {

struct Symbol {
    std::uintptr_t address;
    std::size_t size;          // bytes
    std::string_view name;     // without a suffix of ThinLTO's
    std::uint32_t number = 0;  // its index in the symbol table, or past it; 0: none
};

struct FunctionSpan {
    std::uint32_t begin;  // bytes from the library's base
    std::uint32_t size;   // bytes
};

// What has been proven of a library whose symbol table does not say it. `address` counts from the library's base.
struct AddedSymbol {
    std::string name;
    std::uint32_t address;
    std::uint32_t size;
    bool is_function;
    friend bool operator==(const AddedSymbol&, const AddedSymbol&) = default;
};

// An index over a symbol table in the mapped file: 12 bytes a symbol, a tenth of what a copy with its names takes. The
// table must outlive the index. Each part is built by the first query that needs it: a process that attaches from what
// an earlier one kept makes few.
//
// After the symbols of the table come functions that it need not name, and then what is added.
class SymbolIndex {
public:
    SymbolIndex() = default;
    SymbolIndex(const SymbolIndex&) = delete;
    SymbolIndex& operator=(const SymbolIndex&) = delete;
    // Of a library loaded at `base`. `functions`: by address. Called once.
    void open(const SymbolTable& table, std::uintptr_t base, std::vector<FunctionSpan> functions = {});
    // Adds those that it does not have.
    void add(const std::vector<AddedSymbol>& symbols);

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
    std::size_t count() const { return table_.symbols.size() + functions_.size() + added_.size(); }
    Elf64_Sym entry(std::uint32_t number) const;
    std::string_view name_of(std::uint32_t number) const;
    std::string_view made_name(std::uint32_t number) const;
    Symbol symbol(std::uint32_t number) const;
    std::optional<Symbol> containing(const Numbers& sorted, std::uintptr_t address) const;
    std::shared_ptr<const Names> names() const;
    std::shared_ptr<const Addresses> addresses() const;
    std::size_t place_of(const Names& names, std::string_view name, std::size_t hash) const;

    SymbolTable table_;
    std::uintptr_t base_ = 0;
    std::vector<FunctionSpan> functions_;
    std::deque<AddedSymbol> added_;  // names that were handed out stay where they are
    mutable std::unordered_map<std::uint32_t, std::string> made_names_;  // of functions without one; guarded as below
    mutable std::shared_ptr<const Names> names_;                         // all guarded by one lock for all indexes
    mutable std::shared_ptr<const Addresses> addresses_;
};

}  // namespace optctx::image

// An LLVM library loaded into this process: where it is, and what its ELF file names in it.
// Addresses handed out are absolute addresses in this process.
#pragma once

#include "image/elf_file.hpp"
#include "image/memory.hpp"
#include "image/spans.hpp"
#include "image/symbols.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace optctx::image {

// The path and the base of every shared library with a file that the dynamic loader lists. The base: the difference
// between an address in the process and one in the file.
using LoadedLibraries = std::vector<std::pair<std::string, std::uintptr_t>>;
LoadedLibraries loaded_libraries();

class Library {
public:
    // Throws Misfit if the file is not an ELF library whose symbols or functions are known or is not the library loaded
    // at `base`, and OsError if it cannot be read.
    Library(std::string path, std::uintptr_t base);
    // Keeps the library loaded until the process ends. Throws Misfit if it is not.
    void stay_loaded() const;

    const std::string& path() const noexcept { return file_.path(); }
    std::uintptr_t base() const noexcept { return base_; }
    // Of the linker's, or made of the file's content if it has none.
    const std::string& build_id() const noexcept { return build_id_; }
    // The path of the separate debug file that has the symbol table, if the library itself has none.
    std::string debug_file() const { return debug_ ? debug_->path() : std::string(); }
    // Whether nothing but what the library exports has a name, and where its functions are is known of how they unwind.
    bool is_stripped() const noexcept { return stripped_; }
    std::uintptr_t end() const noexcept { return end_; }
    std::uintptr_t text_begin() const noexcept { return text_begin_; }
    std::uintptr_t text_end() const noexcept { return text_end_; }

    std::optional<Symbol> function_at(std::uintptr_t address) const { return symbols_.function_at(address); }
    std::optional<Symbol> object_at(std::uintptr_t address) const { return symbols_.object_at(address); }
    std::optional<Symbol> named(std::string_view name) const { return symbols_.named(name); }
    std::optional<Symbol> numbered(std::uint32_t number) const { return symbols_.numbered(number); }
    // For each pattern, the functions whose names start with its prefix and contain its infix.
    std::vector<std::vector<Symbol>> functions_named(const SymbolIndex::Patterns& patterns) const {
        return symbols_.functions_named(patterns);
    }
    // Adds what has been proven of a stripped library. Called while no other thread uses its symbols.
    void add_symbols(const std::vector<AddedSymbol>& symbols) { symbols_.add(symbols); }
    // The functions that the loader calls when it has loaded the library. Throws Misfit.
    std::vector<std::uintptr_t> initialisers() const;
    // The slots of the global offset table that lead to what has this name, whichever library has it.
    std::vector<std::uintptr_t> slots_of(std::string_view name) const;
    // (its address, what it points at) of each pointer in the image's data, set up by the loader, into one of the
    // spans: sorted and disjoint. What it binds by name counts as bound to this library: look there whether it is.
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> pointers_into(const std::vector<Span>& spans) const;
    // Whether the address is one of the global offset table, which has a slot for each thing that code reaches by name.
    bool is_slot(std::uintptr_t address) const noexcept { return address - slots_begin_ < slots_size_; }
    // The code in the file; its first byte is loaded at `text_begin()`. The code in memory may have been patched.
    const std::uint8_t* text() const { return file_.at<std::uint8_t>(text_offset_, text_end_ - text_begin_); }
    // The file's contents for an address, before any relocation: zeros in .bss.
    std::vector<std::uint8_t> initial_bytes(std::uintptr_t address, std::size_t size) const;
    bool contains(std::uintptr_t address) const noexcept { return address >= begin_ && address < end_; }
    // What the loader has mapped of it: none of it faults while it stays loaded.
    std::span<const Span> mapped() const noexcept { return mapped_; }
    // Frees the symbol index. A later query builds it again.
    void forget_symbols() { symbols_.forget(); }
    const os::FileIdentity& identity() const noexcept { return file_.identity(); }
    // Lets the kernel drop the file's pages. A later query reads them again.
    void release_pages() const noexcept {
        file_.release_pages();
        if (debug_) debug_->release_pages();
    }

private:
    void read_sections();
    bool find_debug_file();
    std::vector<FunctionSpan> unwound_functions() const;
    const Elf64_Sym& dynamic_symbol(const Elf64_Rela& entry) const;
    std::optional<std::uintptr_t> bound_to_itself(const Elf64_Rela& entry) const;
    void read_segments();
    void check_loaded() const;
    std::string content_id() const;

    std::uintptr_t base_;
    ElfFile file_;
    std::optional<ElfFile> debug_;
    bool stripped_ = false;
    std::string build_id_;
    std::uintptr_t begin_ = 0;
    std::uintptr_t end_ = 0;
    std::vector<Span> mapped_;
    std::uintptr_t text_begin_ = 0;
    std::uintptr_t text_end_ = 0;
    std::uint64_t text_offset_ = 0;
    std::array<std::span<const Elf64_Rela>, 2> relocations_;  // of data, and of the slots that functions are called by
    SymbolTable dynamic_symbols_;
    std::uintptr_t slots_begin_ = 0;
    std::size_t slots_size_ = 0;
    SymbolIndex symbols_;
};

}  // namespace optctx::image

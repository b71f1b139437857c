// An ELF file, mapped: its sections by name, and what they hold. The only code that knows the form of such a file.
#pragma once

#include "image/memory.hpp"
#include "os/os.hpp"

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace optctx::image {

struct SymbolTable {
    std::span<const Elf64_Sym> symbols;
    const char* strings = nullptr;
};

class ElfFile {
public:
    // Throws Misfit if it is no ELF file for this processor, and OsError if it cannot be read.
    explicit ElfFile(std::string path);

    const std::string& path() const noexcept { return path_; }
    std::size_t size() const noexcept { return file_.size(); }
    const os::FileIdentity& identity() const noexcept { return file_.identity(); }
    void release_pages() const noexcept { file_.release_pages(); }

    // What is at an offset. Throws Misfit if the file ends before.
    template <class T>
    const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
        if (offset > file_.size() || count > (file_.size() - offset) / sizeof(T) || offset % alignof(T) != 0)
            throw Misfit(path_ + ": truncated ELF file");
        return reinterpret_cast<const T*>(file_.data() + offset);
    }
    std::span<const Elf64_Phdr> segments() const;
    std::span<const Elf64_Shdr> sections() const noexcept { return sections_; }
    std::string_view name_of(const Elf64_Shdr& section) const;
    // Of that name, or of that type; nullptr if there is none. Throws Misfit.
    const Elf64_Shdr* section(std::string_view name) const;
    const Elf64_Shdr* section(Elf64_Word type) const;
    template <class T>
    std::span<const T> contents(const Elf64_Shdr* section) const {
        if (section == nullptr) return {};
        const std::uint64_t count = section->sh_size / sizeof(T);
        return {at<T>(section->sh_offset, count), count};
    }
    // Its names are texts in the file. Throws Misfit.
    SymbolTable symbols(const Elf64_Shdr& section) const;
    // The linker's, as bytes; empty if it has none. Throws Misfit.
    std::span<const std::uint8_t> build_id() const;

private:
    std::string path_;
    os::MappedFile file_;
    std::span<const Elf64_Shdr> sections_;
    const Elf64_Shdr* names_;
};

}  // namespace optctx::image

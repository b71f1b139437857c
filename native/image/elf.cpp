#include "image/elf.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace optctx::image {
namespace {

int collect(dl_phdr_info* info, std::size_t, void* out) {
    if (info->dlpi_name != nullptr && info->dlpi_name[0] == '/')
        static_cast<std::vector<LoadedLibrary>*>(out)->push_back({info->dlpi_name, info->dlpi_addr});
    return 0;
}

// Symbols may nest or share an address; the containing one that starts last is the answer.
const Symbol* containing(const std::vector<Symbol>& symbols, std::uintptr_t address) {
    auto next = std::upper_bound(symbols.begin(), symbols.end(), address,
                                 [](std::uintptr_t a, const Symbol& s) { return a < s.address; });
    constexpr int back = 8;
    for (int i = 0; i < back && next != symbols.begin(); ++i) {
        --next;
        if (address - next->address < next->size) return &*next;
    }
    return nullptr;
}

std::string hex(const std::uint8_t* bytes, std::size_t count) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

}  // namespace

std::vector<LoadedLibrary> loaded_libraries() {
    std::vector<LoadedLibrary> libraries;
    dl_iterate_phdr(collect, &libraries);
    return libraries;
}

Image::Image(std::string path, std::uintptr_t base) : path_(std::move(path)), base_(base), file_(path_) {
    read_sections();
    check_loaded();
}

void Image::read_sections() {
    const auto* header = at<Elf64_Ehdr>(0);
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_machine != EM_X86_64)
        throw std::runtime_error(path_ + ": not an x86-64 ELF library");
    const auto* segments = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
    begin_ = UINTPTR_MAX;
    for (int i = 0; i < header->e_phnum; ++i) {
        if (segments[i].p_type != PT_LOAD) continue;
        begin_ = std::min<std::uintptr_t>(begin_, base_ + segments[i].p_vaddr);
        end_ = std::max<std::uintptr_t>(end_, base_ + segments[i].p_vaddr + segments[i].p_memsz);
    }
    const auto* sections = at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
    const std::uint64_t names = sections[header->e_shstrndx].sh_offset;
    const Elf64_Shdr* symtab = nullptr;
    for (int i = 0; i < header->e_shnum; ++i) {
        const Elf64_Shdr& section = sections[i];
        const std::string_view name(at<char>(names + section.sh_name));
        if (section.sh_type == SHT_SYMTAB) symtab = &section;
        if (name == ".text") {
            text_begin_ = base_ + section.sh_addr;
            text_end_ = text_begin_ + section.sh_size;
            text_offset_ = section.sh_offset;
        }
        if (name == ".rela.dyn") {
            rela_offset_ = section.sh_offset;
            rela_count_ = section.sh_size / sizeof(Elf64_Rela);
        }
        if (name == ".note.gnu.build-id") {
            const auto* note = at<Elf64_Nhdr>(section.sh_offset);
            const std::uint64_t id = section.sh_offset + sizeof *note + ((note->n_namesz + 3u) & ~3u);
            build_id_ = hex(at<std::uint8_t>(id, note->n_descsz), note->n_descsz);
            build_id_address_ = id - section.sh_offset + section.sh_addr;
        }
    }
    if (symtab == nullptr || text_begin_ == 0)
        throw std::runtime_error(path_ + ": stripped of its symbol table (.symtab), so its options cannot be found");
    read_symbols(symtab->sh_offset, symtab->sh_size, sections[symtab->sh_link].sh_offset);
}

void Image::read_symbols(std::uint64_t symtab, std::uint64_t symtab_size, std::uint64_t strtab) {
    const std::size_t count = symtab_size / sizeof(Elf64_Sym);
    const auto* symbols = at<Elf64_Sym>(symtab, count);
    const char* strings = at<char>(strtab);
    names_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Elf64_Sym& symbol = symbols[i];
        const int type = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_OBJECT)) continue;
        const Symbol entry{base_ + symbol.st_value, symbol.st_size, strings + symbol.st_name};
        names_.emplace(entry.name, entry.address);
        (type == STT_FUNC ? functions_ : objects_).push_back(entry);
    }
    const auto by_address = [](const Symbol& a, const Symbol& b) { return a.address < b.address; };
    std::stable_sort(functions_.begin(), functions_.end(), by_address);
    std::stable_sort(objects_.begin(), objects_.end(), by_address);
}

// The file may have been replaced on disk since it was loaded: its build id must be the one in memory.
void Image::check_loaded() const {
    if (build_id_.empty()) throw std::runtime_error(path_ + ": has no build id to check against memory");
    const auto* loaded = reinterpret_cast<const std::uint8_t*>(base_ + build_id_address_);
    const auto space = os::address_space();
    if (!os::is_readable(space, base_ + build_id_address_, build_id_.size() / 2) ||
        hex(loaded, build_id_.size() / 2) != build_id_)
        throw std::runtime_error(path_ + ": the file is not the library that is loaded (build ids differ)");
}

std::optional<std::uintptr_t> Image::symbol(std::string_view name) const {
    const auto found = names_.find(name);
    if (found == names_.end()) return std::nullopt;
    return found->second;
}

const Symbol* Image::function_at(std::uintptr_t address) const { return containing(functions_, address); }
const Symbol* Image::object_at(std::uintptr_t address) const { return containing(objects_, address); }

std::vector<Symbol> Image::functions_named(std::string_view prefix, std::string_view infix) const {
    std::vector<Symbol> found;
    for (const Symbol& symbol : functions_)
        if (symbol.name.starts_with(prefix) && symbol.name.find(infix) != symbol.name.npos) found.push_back(symbol);
    return found;
}

std::vector<std::uint8_t> Image::initial_bytes(std::uintptr_t address, std::size_t size) const {
    const auto* header = at<Elf64_Ehdr>(0);
    const auto* segments = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
    for (int i = 0; i < header->e_phnum; ++i) {
        const Elf64_Phdr& segment = segments[i];
        const std::uint64_t from = address - base_ - segment.p_vaddr;
        if (segment.p_type != PT_LOAD || from > segment.p_memsz || size > segment.p_memsz - from) continue;
        std::vector<std::uint8_t> bytes(size);
        const std::uint64_t in_file =
            from < segment.p_filesz ? std::min<std::uint64_t>(size, segment.p_filesz - from) : 0;
        if (in_file != 0) std::memcpy(bytes.data(), at<std::uint8_t>(segment.p_offset + from, in_file), in_file);
        return bytes;
    }
    throw std::runtime_error(path_ + ": no segment of the file holds the address");
}

std::vector<std::pair<std::uintptr_t, std::uintptr_t>> Image::relative_relocations() const {
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
    const auto* entries = at<Elf64_Rela>(rela_offset_, rela_count_);
    for (std::uint64_t i = 0; i < rela_count_; ++i)
        if (ELF64_R_TYPE(entries[i].r_info) == R_X86_64_RELATIVE)
            found.emplace_back(base_ + entries[i].r_offset, base_ + entries[i].r_addend);
    return found;
}

}  // namespace optctx::image

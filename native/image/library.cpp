#include "image/library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace optctx::image {
namespace {

constexpr std::uint64_t shortest_text = 16;                // bytes; scans end a few bytes before the end of the code
constexpr std::uint32_t longest_build_id = 256;            // bytes; linkers write 20
constexpr std::uint32_t packed_relocations = 19;           // SHT_RELR, which older systems do not name
constexpr std::uint64_t largest = std::uint64_t{1} << 33;  // bytes of a library; the largest known has 2^28

#if defined(__x86_64__)
constexpr std::uint16_t own_machine = EM_X86_64;
constexpr const char* own_machine_name = "x86-64";
#else
#error "no folder native/arch for this processor"
#endif

int collect(dl_phdr_info* info, std::size_t, void* out) {
    if (info->dlpi_name != nullptr && std::strchr(info->dlpi_name, '/') != nullptr)
        static_cast<std::vector<LoadedLibrary>*>(out)->push_back({info->dlpi_name, info->dlpi_addr});
    return 0;
}

std::string hex_text(const std::uint8_t* bytes, std::size_t count) {
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

Library::Library(std::string path, std::uintptr_t base) : path_(std::move(path)), base_(base), file_(path_) {
    read_sections();
    check_loaded();
}

void Library::read_sections() {
    const auto* header = at<Elf64_Ehdr>(0);
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_machine != own_machine)
        throw Misfit(path_ + ": not an ELF library for " + own_machine_name);
    read_segments(*header);
    const auto* sections = at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
    if (header->e_shstrndx >= header->e_shnum) throw Misfit(path_ + ": its sections have no names");
    const Elf64_Shdr& names = sections[header->e_shstrndx];
    const Elf64_Shdr* symtab = nullptr;
    std::string unseen;  // what refers to options and is not looked at here
    for (int i = 0; i < header->e_shnum; ++i) {
        const Elf64_Shdr& section = sections[i];
        const std::string_view name = name_of(names, section.sh_name);
        if (section.sh_type == SHT_SYMTAB) symtab = &section;
        if (section.sh_type == packed_relocations) unseen = "pointers that are packed";
        if ((section.sh_flags & SHF_EXECINSTR) != 0 && name != ".text" && name.find("text") != std::string_view::npos)
            unseen = "code outside .text";
        if (name == ".text") {
            text_begin_ = base_ + section.sh_addr;
            text_end_ = text_begin_ + section.sh_size;
            text_offset_ = section.sh_offset;
        }
        if (name == ".rela.dyn") relocations_[0] = {section.sh_offset, section.sh_size / sizeof(Elf64_Rela)};
        if (name == ".rela.plt") relocations_[1] = {section.sh_offset, section.sh_size / sizeof(Elf64_Rela)};
        if (name == ".got") {
            slots_begin_ = base_ + section.sh_addr;
            slots_size_ = section.sh_size;
        }
        if (section.sh_type == SHT_DYNSYM) dynamic_symbols_ = {section.sh_offset, section.sh_size / sizeof(Elf64_Sym)};
        if (name == ".note.gnu.build-id") {
            const auto* note = at<Elf64_Nhdr>(section.sh_offset);
            const std::uint64_t id = section.sh_offset + sizeof *note + ((std::uint64_t{note->n_namesz} + 3) & ~3ull);
            if (note->n_descsz > longest_build_id) throw Misfit(path_ + ": its build id is too long");
            build_id_ = hex_text(at<std::uint8_t>(id, note->n_descsz), note->n_descsz);
            identifying_ = {{base_ + id - section.sh_offset + section.sh_addr, id, note->n_descsz}};
        }
    }
    if (build_id_.empty()) {
        build_id_ = content_id();
        for (int i = 0; i < header->e_shnum; ++i) {
            const std::string_view name = name_of(names, sections[i].sh_name);
            if (name == ".dynsym" || name == ".dynstr" || name == ".eh_frame_hdr")
                identifying_.push_back({base_ + sections[i].sh_addr, sections[i].sh_offset, sections[i].sh_size});
        }
        if (identifying_.empty()) throw Misfit(path_ + ": has no build id to check against memory, and no symbols");
    }
    if (symtab == nullptr || text_end_ - text_begin_ < shortest_text)
        throw Misfit(path_ + ": stripped of its symbol table (.symtab), so its options cannot be found");
    if (!unseen.empty()) throw Misfit(path_ + ": has " + unseen + ", where references to options cannot be found");
    if (symtab->sh_link >= header->e_shnum) throw Misfit(path_ + ": the symbol table (.symtab) names no string table");
    const Elf64_Shdr& strings = sections[symtab->sh_link];
    read_symbols(symtab->sh_offset, symtab->sh_size, strings.sh_offset, strings.sh_size);
}

void Library::read_segments(const Elf64_Ehdr& header) {
    const auto* segments = at<Elf64_Phdr>(header.e_phoff, header.e_phnum);
    begin_ = UINTPTR_MAX;
    for (int i = 0; i < header.e_phnum; ++i) {
        const Elf64_Phdr& segment = segments[i];
        if (segment.p_type != PT_LOAD) continue;
        if (segment.p_vaddr > largest || segment.p_memsz > largest)
            throw Misfit(path_ + ": a segment ends beyond " + std::to_string(largest >> 30) + " GiB");
        begin_ = std::min<std::uintptr_t>(begin_, base_ + segment.p_vaddr);
        end_ = std::max<std::uintptr_t>(end_, base_ + segment.p_vaddr + segment.p_memsz);
    }
}

std::string_view Library::name_of(const Elf64_Shdr& names, std::uint64_t offset) const {
    if (offset >= names.sh_size) throw Misfit(path_ + ": the name of a section lies outside their table");
    const char* text = at<char>(names.sh_offset, names.sh_size) + offset;
    return {text, strnlen(text, names.sh_size - offset)};
}

void Library::read_symbols(std::uint64_t symtab, std::uint64_t symtab_size, std::uint64_t strtab,
                           std::uint64_t strtab_size) {
    const std::size_t count = symtab_size / sizeof(Elf64_Sym);
    const auto* symbols = at<Elf64_Sym>(symtab, count);
    const char* strings = at<char>(strtab, strtab_size);
    const bool ends = strtab_size > 0 && strings[strtab_size - 1] == '\0';
    const bool inside =
        std::all_of(symbols, symbols + count, [&](const Elf64_Sym& symbol) { return symbol.st_name < strtab_size; });
    if (!ends || !inside) throw Misfit(path_ + ": names of symbols lie outside its string table (.strtab)");
    symbols_.open(symbols, count, strings, base_);
}

// The file may have been replaced on disk since it was loaded: its build id must be the one in memory, or, if it has
// none, what says where everything is.
void Library::check_loaded() const {
    std::vector<std::uint8_t> loaded;
    for (const auto& [address, offset, size] : identifying_) {
        loaded.resize(size);
        if (!os::read_checked(address, loaded.data(), size) ||
            std::memcmp(loaded.data(), at<std::uint8_t>(offset, size), size) != 0)
            throw Misfit(path_ + ": the file is not the library that is loaded (their contents differ)");
    }
}

// Of all bytes of the file, for a library without a build id: two hashes, 128 bits.
std::string Library::content_id() const {
    const auto* words = at<std::uint64_t>(0, file_.size() / sizeof(std::uint64_t));
    std::uint64_t hashes[2] = {0x9E3779B97F4A7C15, file_.size()};
    for (std::size_t i = 0; i < file_.size() / sizeof(std::uint64_t); ++i)
        for (std::uint64_t& hash : hashes) hash = std::rotl((hash ^ words[i]) * 0xD6E8FEB86659FD93, 29) + hashes[0];
    return hex_text(reinterpret_cast<const std::uint8_t*>(hashes), sizeof hashes);
}

std::vector<std::pair<std::uintptr_t, std::uintptr_t>> Library::pointers_into(const std::vector<Span>& spans) const {
    const SpanIndex index(spans);
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
    for (const Table& table : relocations_) {
        const auto* entries = at<Elf64_Rela>(table.offset, table.count);
        for (std::uint64_t i = 0; i < table.count; ++i) {
            const auto target = bound_to_itself(entries[i]);
            if (target && index.contains(*target)) found.emplace_back(base_ + entries[i].r_offset, *target);
        }
    }
    return found;
}

// Where the pointer leads that the loader makes of a relocation, if the library itself defines that.
std::optional<std::uintptr_t> Library::bound_to_itself(const Elf64_Rela& entry) const {
    switch (ELF64_R_TYPE(entry.r_info)) {
        case R_X86_64_RELATIVE:
            return base_ + static_cast<std::uintptr_t>(entry.r_addend);
        case R_X86_64_64:
        case R_X86_64_GLOB_DAT:
        case R_X86_64_JUMP_SLOT:
            break;
        default:
            return std::nullopt;
    }
    const std::uint64_t number = ELF64_R_SYM(entry.r_info);
    if (number >= dynamic_symbols_.count) throw Misfit(path_ + ": a relocation names no dynamic symbol");
    const auto& symbol = at<Elf64_Sym>(dynamic_symbols_.offset, dynamic_symbols_.count)[number];
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) == STT_TLS) return std::nullopt;
    const bool adds = ELF64_R_TYPE(entry.r_info) == R_X86_64_64;
    return base_ + symbol.st_value + (adds ? static_cast<std::uintptr_t>(entry.r_addend) : 0);
}

void Library::stay_loaded() const {
    if (dlopen(path_.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) == nullptr)
        throw Misfit(path_ + ": no longer loaded");
}

std::vector<std::uint8_t> Library::initial_bytes(std::uintptr_t address, std::size_t size) const {
    if (size > most_bytes) throw Misfit(path_ + ": a symbol has a size of " + std::to_string(size) + " bytes");
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
    throw Misfit(path_ + ": no segment of the file holds the address");
}

}  // namespace optctx::image

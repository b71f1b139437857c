#include "image/elf_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace optctx::image {
namespace {

constexpr std::uint32_t longest_build_id = 256;  // bytes; linkers write 20

#if defined(__x86_64__)
constexpr std::uint16_t own_machine = EM_X86_64;
constexpr const char* own_machine_name = "x86-64";
#else
#error "no folder native/arch for this processor"
#endif

}  // namespace

ElfFile::ElfFile(std::string path) : path_(std::move(path)), file_(path_) {
    const auto* header = at<Elf64_Ehdr>(0);
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_machine != own_machine)
        throw Misfit(path_ + ": not an ELF library for " + own_machine_name);
    sections_ = {at<Elf64_Shdr>(header->e_shoff, header->e_shnum), header->e_shnum};
    if (header->e_shstrndx >= header->e_shnum) throw Misfit(path_ + ": its sections have no names");
    names_ = &sections_[header->e_shstrndx];
}

std::span<const Elf64_Phdr> ElfFile::segments() const {
    const auto* header = at<Elf64_Ehdr>(0);
    return {at<Elf64_Phdr>(header->e_phoff, header->e_phnum), header->e_phnum};
}

const Elf64_Shdr* ElfFile::section(std::string_view name) const {
    const auto found = std::ranges::find(sections_, name, [this](const Elf64_Shdr& each) { return name_of(each); });
    return found == sections_.end() ? nullptr : &*found;
}

const Elf64_Shdr* ElfFile::section(Elf64_Word type) const {
    const auto found = std::ranges::find(sections_, type, &Elf64_Shdr::sh_type);
    return found == sections_.end() ? nullptr : &*found;
}

std::string_view ElfFile::name_of(const Elf64_Shdr& section) const {
    if (section.sh_name >= names_->sh_size) throw Misfit(path_ + ": the name of a section lies outside their table");
    const char* text = at<char>(names_->sh_offset, names_->sh_size) + section.sh_name;
    return {text, strnlen(text, names_->sh_size - section.sh_name)};
}

SymbolTable ElfFile::symbols(const Elf64_Shdr& section) const {
    if (section.sh_link >= sections_.size()) throw Misfit(path_ + ": the symbol table (.symtab) names no string table");
    const auto symbols = contents<Elf64_Sym>(&section);
    const auto strings = contents<char>(&sections_[section.sh_link]);
    const bool ends = !strings.empty() && strings.back() == '\0';
    const auto inside = [&](const Elf64_Sym& symbol) { return symbol.st_name < strings.size(); };
    if (!ends || !std::ranges::all_of(symbols, inside))
        throw Misfit(path_ + ": names of symbols lie outside its string table (.strtab)");
    return {symbols, strings.data()};
}

std::span<const std::uint8_t> ElfFile::build_id() const {
    const Elf64_Shdr* section = this->section(".note.gnu.build-id");
    if (section == nullptr) return {};
    const auto* note = at<Elf64_Nhdr>(section->sh_offset);
    const std::uint64_t id = section->sh_offset + sizeof *note + ((std::uint64_t{note->n_namesz} + 3) & ~3ull);
    if (note->n_descsz > longest_build_id) throw Misfit(path_ + ": its build id is too long");
    return {at<std::uint8_t>(id, note->n_descsz), note->n_descsz};
}

}  // namespace optctx::image

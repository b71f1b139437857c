#include "image/library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace optctx::image {
namespace {

constexpr std::uint64_t shortest_text = 16;                // bytes; scans end a few bytes before the end of the code
constexpr std::uint32_t packed_relocations = 19;           // SHT_RELR, which older systems do not name
constexpr std::uint64_t largest = std::uint64_t{1} << 33;  // bytes of a library; the largest known has 2^28

int collect(dl_phdr_info* info, std::size_t, void* out) {
    if (info->dlpi_name != nullptr && std::strchr(info->dlpi_name, '/') != nullptr)
        static_cast<LoadedLibraries*>(out)->emplace_back(info->dlpi_name, info->dlpi_addr);
    return 0;
}

std::string hex_text(std::span<const std::uint8_t> bytes) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

}  // namespace

LoadedLibraries loaded_libraries() {
    LoadedLibraries libraries;
    dl_iterate_phdr(collect, &libraries);
    return libraries;
}

Library::Library(std::string path, std::uintptr_t base) : base_(base), file_(std::move(path)) {
    read_segments();
    read_sections();
    check_loaded();
}

void Library::read_sections() {
    if (const Elf64_Shdr* text = file_.section(".text")) {
        text_begin_ = base_ + text->sh_addr;
        text_end_ = text_begin_ + text->sh_size;
        text_offset_ = text->sh_offset;
    }
    relocations_[0] = file_.contents<Elf64_Rela>(file_.section(".rela.dyn"));
    relocations_[1] = file_.contents<Elf64_Rela>(file_.section(".rela.plt"));
    if (const Elf64_Shdr* slots = file_.section(".got")) {
        slots_begin_ = base_ + slots->sh_addr;
        slots_size_ = slots->sh_size;
    }
    if (const Elf64_Shdr* dynamic = file_.section(SHT_DYNSYM)) dynamic_symbols_ = file_.symbols(*dynamic);
    const auto id = file_.build_id();
    build_id_ = id.empty() ? content_id() : hex_text(id);
    for (const Elf64_Shdr& section : file_.sections()) {
        const std::string_view name = file_.name_of(section);
        const bool unseen = name != ".text" && name.find("text") != std::string_view::npos;
        const char* what = section.sh_type == packed_relocations               ? "pointers that are packed"
                           : (section.sh_flags & SHF_EXECINSTR) != 0 && unseen ? "code outside .text"
                                                                               : nullptr;
        if (what != nullptr) throw Misfit(path() + ": has " + what + ", where references to options cannot be found");
    }
    if (text_end_ - text_begin_ < shortest_text) throw Misfit(path() + ": has no code (.text)");
    if (const Elf64_Shdr* table = file_.section(SHT_SYMTAB)) {
        symbols_.open(file_.symbols(*table), base_);
    } else if (!find_debug_file()) {
        if (dynamic_symbols_.symbols.empty() || file_.section(".eh_frame_hdr") == nullptr)
            throw Misfit(path() +
                         ": stripped of its symbol table (.symtab), and without exported symbols (.dynsym) or a table "
                         "of its functions (.eh_frame_hdr), so its options cannot be found");
        stripped_ = true;
        symbols_.open(dynamic_symbols_, base_, unwound_functions());
    }
}

// Takes the symbol table of a separate debug file, where debuggers look for it. It counts only with the same build id.
bool Library::find_debug_file() {
    const auto id = file_.build_id();
    if (id.size() < 2) return false;
    const std::string root = "/usr/lib/debug", folder = path().substr(0, path().rfind('/') + 1);
    std::vector<std::string> places = {root + "/.build-id/" + hex_text(id.first(1)) + "/" + hex_text(id.subspan(1)) +
                                       ".debug"};
    if (const auto link = file_.contents<char>(file_.section(".gnu_debuglink")); !link.empty()) {
        const std::string name(link.data(), strnlen(link.data(), link.size()));
        for (const std::string& each : {folder, folder + ".debug/", root + folder}) places.push_back(each + name);
    }
    for (const std::string& place : places) {
        if (::access(place.c_str(), R_OK) != 0) continue;
        ElfFile file(place);
        const Elf64_Shdr* table = file.section(SHT_SYMTAB);
        if (table == nullptr || !std::ranges::equal(file.build_id(), id)) continue;
        const SymbolTable& symbols = file.symbols(*table);
        debug_ = std::move(file);
        symbols_.open(symbols, base_);
        return true;
    }
    return false;
}

// Each function that can be unwound, by the table that unwinders search (Linux Standard Base 5.0, 10.6.2). An entry's
// description begins {bytes, place of what it shares, where the function begins, its bytes}.
std::vector<FunctionSpan> Library::unwound_functions() const {
    constexpr std::uint8_t known_form[] = {1, 0x1B, 0x03, 0x3B};  // version; offsets of 32 bits, of the table from it
    constexpr std::uint64_t head = 12;
    struct Row {
        std::int32_t begin, description;
    };
    const Elf64_Shdr* table = file_.section(".eh_frame_hdr");
    const Elf64_Shdr* frames = file_.section(".eh_frame");
    const auto bytes = file_.contents<std::uint8_t>(table);
    const auto wide = [](std::int32_t distance) { return static_cast<std::uint64_t>(std::int64_t{distance}); };
    const auto misfit = [&] { return Misfit(path() + ": its table of functions (.eh_frame_hdr) has another form"); };
    if (frames == nullptr || bytes.size() < head || std::memcmp(bytes.data(), known_form, sizeof known_form) != 0)
        throw misfit();
    const auto count = *file_.at<std::uint32_t>(table->sh_offset + 8);
    const auto* rows = file_.at<Row>(table->sh_offset + head, count);
    std::vector<FunctionSpan> functions(count);
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t begin = table->sh_addr + wide(rows[i].begin);
        const std::uint64_t at = table->sh_addr + wide(rows[i].description) - frames->sh_addr;
        const auto* words = file_.at<std::int32_t>(frames->sh_offset + at, 4);
        const std::uint64_t place = frames->sh_addr + at + 8 + wide(words[2]);
        const std::uint64_t size = static_cast<std::uint32_t>(words[3]);
        if (place != begin || begin < end || begin > largest || size > largest) throw misfit();
        end = begin + size;
        functions[i] = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(size)};
    }
    return functions;
}

std::vector<std::uintptr_t> Library::initialisers() const {
    const Elf64_Shdr* section = file_.section(SHT_INIT_ARRAY);
    if (section == nullptr) return {};
    if (section->sh_size > most_bytes) throw Misfit(path() + ": its list of initialisers is too long");
    std::vector<std::uintptr_t> functions(section->sh_size / sizeof(std::uintptr_t));
    if (!os::read_checked(base_ + section->sh_addr, functions.data(), functions.size() * sizeof functions[0]))
        throw Misfit(path() + ": its list of initialisers cannot be read");
    return functions;
}

void Library::read_segments() {
    begin_ = UINTPTR_MAX;
    for (const Elf64_Phdr& segment : file_.segments()) {
        if (segment.p_type != PT_LOAD) continue;
        if (segment.p_vaddr > largest || segment.p_memsz > largest)
            throw Misfit(path() + ": a segment ends beyond " + std::to_string(largest >> 30) + " GiB");
        if ((segment.p_flags & PF_R) != 0) mapped_.push_back({base_ + segment.p_vaddr, segment.p_memsz});
        begin_ = std::min<std::uintptr_t>(begin_, base_ + segment.p_vaddr);
        end_ = std::max<std::uintptr_t>(end_, base_ + segment.p_vaddr + segment.p_memsz);
    }
}

// The file may have been replaced on disk since it was loaded: its build id must be the one in memory, or, if it has
// none, what says where everything is.
void Library::check_loaded() const {
    std::vector<std::string_view> names{".note.gnu.build-id"};
    if (file_.build_id().empty()) names = {".dynsym", ".dynstr", ".eh_frame_hdr"};
    std::erase_if(names, [this](std::string_view name) { return file_.section(name) == nullptr; });
    if (names.empty()) throw Misfit(path() + ": has no build id to check against memory, and no symbols");
    for (const std::string_view name : names) {
        const Elf64_Shdr* section = file_.section(name);
        const auto own = file_.contents<std::uint8_t>(section);
        std::vector<std::uint8_t> loaded(own.size());
        if (!os::read_checked(base_ + section->sh_addr, loaded.data(), own.size()) || !std::ranges::equal(loaded, own))
            throw Misfit(path() + ": the file is not the library that is loaded (their contents differ)");
    }
}

// Of all bytes of the file, for a library without a build id: two hashes, 128 bits.
std::string Library::content_id() const {
    const auto* words = file_.at<std::uint64_t>(0, file_.size() / sizeof(std::uint64_t));
    std::uint64_t hashes[2] = {0x9E3779B97F4A7C15, file_.size()};
    for (std::size_t i = 0; i < file_.size() / sizeof(std::uint64_t); ++i)
        for (std::uint64_t& hash : hashes) hash = std::rotl((hash ^ words[i]) * 0xD6E8FEB86659FD93, 29) + hashes[0];
    return hex_text({reinterpret_cast<const std::uint8_t*>(hashes), sizeof hashes});
}

std::vector<std::pair<std::uintptr_t, std::uintptr_t>> Library::pointers_into(const std::vector<Span>& spans) const {
    const SpanIndex index(spans);
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
    for (const auto& entries : relocations_) {
        for (const Elf64_Rela& entry : entries) {
            const auto target = bound_to_itself(entry);
            if (target && index.contains(*target)) found.emplace_back(base_ + entry.r_offset, *target);
        }
    }
    return found;
}

std::vector<std::uintptr_t> Library::slots_of(std::string_view name) const {
    std::vector<std::uintptr_t> slots;
    for (const auto& entries : relocations_) {
        for (const Elf64_Rela& entry : entries) {
            const auto type = ELF64_R_TYPE(entry.r_info);
            if (type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT) continue;
            if (dynamic_symbols_.strings + dynamic_symbol(entry).st_name == name)
                slots.push_back(base_ + entry.r_offset);
        }
    }
    return slots;
}

const Elf64_Sym& Library::dynamic_symbol(const Elf64_Rela& entry) const {
    const std::uint64_t number = ELF64_R_SYM(entry.r_info);
    if (number >= dynamic_symbols_.symbols.size()) throw Misfit(path() + ": a relocation names no dynamic symbol");
    return dynamic_symbols_.symbols[number];
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
    const Elf64_Sym& symbol = dynamic_symbol(entry);
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) == STT_TLS) return std::nullopt;
    const bool adds = ELF64_R_TYPE(entry.r_info) == R_X86_64_64;
    return base_ + symbol.st_value + (adds ? static_cast<std::uintptr_t>(entry.r_addend) : 0);
}

void Library::stay_loaded() const {
    if (dlopen(path().c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) == nullptr)
        throw Misfit(path() + ": no longer loaded");
}

std::vector<std::uint8_t> Library::initial_bytes(std::uintptr_t address, std::size_t size) const {
    if (size > most_bytes) throw Misfit(path() + ": a symbol has a size of " + std::to_string(size) + " bytes");
    for (const Elf64_Phdr& segment : file_.segments()) {
        const std::uint64_t from = address - base_ - segment.p_vaddr;
        if (segment.p_type != PT_LOAD || from > segment.p_memsz || size > segment.p_memsz - from) continue;
        std::vector<std::uint8_t> bytes(size);
        const std::uint64_t in_file =
            from < segment.p_filesz ? std::min<std::uint64_t>(size, segment.p_filesz - from) : 0;
        if (in_file != 0) std::memcpy(bytes.data(), file_.at<std::uint8_t>(segment.p_offset + from, in_file), in_file);
        return bytes;
    }
    throw Misfit(path() + ": no segment of the file holds the address");
}

}  // namespace optctx::image

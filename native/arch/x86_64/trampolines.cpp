// The trampolines of x86-64 (Intel SDM vol. 2, chapter 2):
//
//     [mov byte fs:[exposure group], 1]   only where LLVM may write the region, now or later
//     [lea rsp, [rsp-128]; push r]        only where no register is free; 128 bytes: the red zone
//     mov  r, fs:[thread's view]
//     mov  r, [r + word * 8]              address of this thread's storage for the region
//     <the instruction, reading [r + offset] instead of [rip + displacement]>
//     [pop r; lea rsp, [rsp+128]]
//     jmp  back
//
// An instruction that takes an address (lea) becomes a load of it, `mov destination, [r]`, where the word has readers:
// so that every use of such a word touches what it points at.
//
// None of the added instructions changes the flags or touches memory outside the stack, the view and the thread's
// exposure groups.
#include "arch/trampolines.hpp"

#include "arch/faults.hpp"
#include "arch/x86_64/bytes.hpp"
#include "image/memory.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>

namespace optctx::arch {
namespace {

using Code = std::vector<std::uint8_t>;
using Instruction = std::span<const std::uint8_t>;

// As in optctx/arch/x86_64/sites.py.
enum Tactic : std::uint8_t { destination, saved, call };

constexpr unsigned rsp = 4, r11 = 11, r12 = 12;  // rsp and r12 as a base need a SIB byte
constexpr std::uint8_t rex = 0x40, rex_w = 0x48, rex_r = 4, rex_b = 1;
constexpr std::size_t displacement_size = 4;
constexpr std::uint8_t set_byte[] = {0x64, 0xC6, 0x04, 0x25};             // mov byte fs:[displacement], immediate
constexpr std::uint8_t skip_red_zone[] = {0x48, 0x8D, 0x64, 0x24, 0x80};  // lea rsp, [rsp-128]
constexpr std::uint8_t back_to_stack[] = {0x48, 0x8D, 0xA4, 0x24, 0x80, 0, 0, 0};  // lea rsp, [rsp+128]
constexpr std::uint8_t legacy_prefixes[] = {0x66, 0xF2, 0xF3, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65, 0xF0, 0x67};

std::uint8_t low_byte(unsigned value) { return static_cast<std::uint8_t>(value); }
std::uint8_t extended(unsigned number, std::uint8_t bits) { return number >= 8 ? bits : std::uint8_t{0}; }

void append(Code& code, std::initializer_list<unsigned> bytes) {
    for (const unsigned each : bytes) code.push_back(low_byte(each));
}

void append(Code& code, Instruction bytes) { code.insert(code.end(), bytes.begin(), bytes.end()); }

void append_displacement(Code& code, std::int32_t displacement) {
    std::uint8_t bytes[displacement_size];
    std::memcpy(bytes, &displacement, sizeof bytes);
    append(code, bytes);
}

// The bit that extends the base register: REX.B, or its inverse in VEX and EVEX.
void set_base_extension(Code& code, std::size_t modrm_at, bool on) {
    std::size_t at = 0;
    while (at < modrm_at && std::ranges::find(legacy_prefixes, code[at]) != std::end(legacy_prefixes)) ++at;
    if ((code[at] & 0xF0) == rex) {
        code[at] = low_byte((code[at] & ~rex_b) | (on ? rex_b : 0));
    } else if ((code[at] == 0xC4 || code[at] == 0x62) && at + 2 < modrm_at) {
        code[at + 1] = low_byte((code[at + 1] & ~0x20) | (on ? 0 : 0x20));
    }
}

// ModRM with mod 10: [base + displacement of 32 bits].
std::uint8_t modrm_on(unsigned base, unsigned field) { return low_byte(0x80 | (field & 7) << 3 | (base & 7)); }

bool is_branch(Instruction instruction) {  // call or jmp [rip + displacement]
    return instruction.size() == 2 + displacement_size && instruction[0] == 0xFF &&
           (instruction[1] == 0x15 || instruction[1] == 0x25);
}

Code load_address(Instruction instruction, std::size_t operand_at, unsigned scratch, const std::string& where) {
    const std::uint8_t prefix = instruction[0];
    if (operand_at != 2 || (prefix & 0xF8) != rex_w || instruction[1] != 0x8D)
        throw image::Misfit("expected lea of 64 bits at " + where);
    const unsigned register_number = (instruction[operand_at] >> 3 & 7u) | ((prefix & rex_r) != 0 ? 8u : 0u);
    Code code;  // with a displacement of 8 bits, which rbp needs
    append(code, {unsigned{rex_w} | extended(register_number, rex_r) | extended(scratch, rex_b), 0x8B,
                  0x40u | (register_number & 7) << 3 | (scratch & 7), 0});
    return code;
}

bool is_register(const Site& site, Instruction code) {
    if (site.tactic == Tactic::call) return site.scratch == r11 && is_branch(code);
    if (site.scratch == rsp || site.scratch == r12 || is_branch(code)) return false;
    return site.tactic == Tactic::saved ? site.scratch < 8 : site.tactic == Tactic::destination && site.scratch < 16;
}

// The instruction of a site, in the library's file, after everything is checked that the bytes themselves can tell.
Instruction instruction_of(const image::Library& image, const Site& site) {
    const auto misfit = [&](const char* why) {
        return image::Misfit("the site " + std::to_string(site.address - image.base()) + " bytes into the library " +
                             why);
    };
    const std::uintptr_t begin = site.address - image.text_begin(), size = image.text_end() - image.text_begin();
    if (begin >= size || site.length > size - begin) throw misfit("is outside the code");
    if (site.length < jump_size || site.length > longest_instruction) throw misfit("has no room for a jump");
    const Instruction code{image.text() + begin, site.length};
    const std::size_t at = site.operand_at;
    if (at == 0 || at + 1 + displacement_size > site.length || (code[at] & 0xC7) != 0x05)
        throw misfit("has no operand that is relative to it");
    if (target_of(site.address + site.length, &code[at + 1]) != site.region + static_cast<std::uint64_t>(site.offset))
        throw misfit("refers to something else");
    if (!is_register(site, code)) throw misfit("cannot use the register that it names");
    return code;
}

// `exposed_at`: of the byte of the region's exposure group, from the thread pointer.
Code trampoline(Instruction instruction, const Site& site, std::uint32_t word, bool loads, std::int32_t view_offset,
                std::int32_t exposed_at) {
    const unsigned scratch = site.scratch;
    Code code;
    code.reserve(5 * longest_instruction);
    if (exposes(site)) {
        append(code, set_byte);
        append_displacement(code, exposed_at);
        append(code, {1});
    }
    if (site.tactic == Tactic::saved) {
        append(code, skip_red_zone);
        append(code, {0x50 + scratch});
    }
    append(code, {0x64, unsigned{rex_w} | extended(scratch, rex_r), 0x8B, 0x04 | (scratch & 7) << 3, 0x25});
    append_displacement(code, view_offset);
    append(code, {unsigned{rex_w} | extended(scratch, rex_r | rex_b), 0x8B, modrm_on(scratch, scratch)});
    append_displacement(code, static_cast<std::int32_t>(word * sizeof(std::uintptr_t)));
    append(code, loads ? load_address(instruction, site.operand_at, scratch, std::to_string(site.address))
                       : rewrite(instruction, site.operand_at, scratch, site.offset));
    if (site.tactic == Tactic::saved) {
        append(code, {0x58 + scratch});
        append(code, back_to_stack);
    }
    return code;
}

}  // namespace

Code rewrite(Instruction instruction, std::size_t operand_at, unsigned scratch, std::int32_t offset) {
    if (operand_at + 1 + displacement_size > instruction.size()) throw image::Misfit("the operand is cut off");
    Code code;
    // One byte longer, for the prefix that r11 needs. A call returns into the trampoline, and from there to the
    // instruction after the original one.
    if (is_branch(instruction) && scratch >= 8) {
        append(code, {unsigned{rex} | rex_b, instruction[0], modrm_on(scratch, instruction[operand_at] >> 3 & 7u)});
        append_displacement(code, offset);
        return code;
    }
    append(code, instruction);
    code[operand_at] = modrm_on(scratch, code[operand_at] >> 3 & 7u);
    std::memcpy(code.data() + operand_at + 1, &offset, sizeof offset);
    set_base_extension(code, operand_at, scratch >= 8);
    return code;
}

std::size_t use_at(const Site& site) noexcept {
    constexpr std::size_t push = 1, load_view = 5 + displacement_size, load_word = 3 + displacement_size;
    const std::size_t note = exposes(site) ? sizeof set_byte + displacement_size + 1 : 0;
    return note + load_view + load_word + (site.tactic == Tactic::saved ? sizeof skip_red_zone + push : 0);
}

std::vector<Change> trampolines(const image::Library& image, std::span<const Site> sites, const Readers& readers,
                                std::int32_t view_offset, std::int32_t exposed_offset) {
    if (readers.words.size() != sites.size()) throw image::Misfit("expected a word of the view for each site");
    std::vector<Change> made;
    made.reserve(sites.size());
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const Instruction code = instruction_of(image, sites[i]);
        const std::uint32_t word = readers.words[i];
        const bool loads = word >= readers.first && (sites[i].uses & takes_address_bit) != 0;
        const auto group = static_cast<std::int32_t>(exposure_group(readers.slot_of(word)));
        made.push_back({sites[i].address, Code(code.begin(), code.end()),
                        trampoline(code, sites[i], word, loads, view_offset, exposed_offset + group)});
    }
    return made;
}

}  // namespace optctx::arch

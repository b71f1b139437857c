#include "arch/lengths.hpp"

#include "arch/faults.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>

namespace optctx::arch {
namespace {

// What follows an opcode, in 64-bit mode (Intel SDM vol. 2, chapter 2 and appendix A).
enum Immediate : std::uint8_t { none, byte, word_or_double, up_to_quad };
struct Form {
    std::uint8_t prefixes = 0;  // a bit for each mandatory prefix under which the opcode is known: see Prefix
    bool modrm = false;
    Immediate immediate = none;
    std::uint8_t memory = 0xFF;     // a bit for each value of ModRM.reg that is known with an operand in memory
    std::uint8_t registers = 0xFF;  // and with a register
};
enum Prefix : std::uint8_t { plain = 1, size = 2, rep = 4, repne = 8, any = 15 };  // none, 66, F3, F2

using Map = std::array<Form, 256>;

constexpr void set(Map& map, std::initializer_list<unsigned> opcodes, Form form) {
    for (const unsigned opcode : opcodes) map[opcode] = form;
}
constexpr void set_range(Map& map, unsigned first, unsigned last, Form form) {
    for (unsigned opcode = first; opcode <= last; ++opcode) map[opcode] = form;
}

constexpr std::uint8_t both = plain | size;

constexpr Map one_byte() {
    Map map{};
    for (unsigned group = 0; group < 0x40; group += 8) {  // add, or, adc, sbb, and, sub, xor, cmp
        set_range(map, group, group + 3, {both, true});
        map[group + 4] = {both, false, byte};
        map[group + 5] = {both, false, word_or_double};
    }
    set_range(map, 0x50, 0x5F, {plain});               // push, pop
    map[0x63] = {plain, true};                         // movsxd
    map[0x68] = {plain, false, word_or_double};        // push
    map[0x69] = {both, true, word_or_double};          // imul
    map[0x6A] = {plain, false, byte};                  // push
    map[0x6B] = {both, true, byte};                    // imul
    set_range(map, 0x70, 0x7F, {plain, false, byte});  // jcc
    map[0x80] = {both, true, byte};
    map[0x81] = {both, true, word_or_double};
    map[0x83] = {both, true, byte};
    set_range(map, 0x84, 0x8B, {both, true});          // test, xchg, mov
    map[0x8D] = {both, true, none, 0xFF, 0};           // lea
    map[0x90] = {both | rep};                          // nop, pause
    set_range(map, 0x91, 0x97, {both});                // xchg
    set_range(map, 0x98, 0x99, {both});                // cwde, cdq
    set(map, {0xA4, 0xA5, 0xAA, 0xAB}, {both | rep});  // movs, stos
    map[0xA8] = {both, false, byte};                   // test
    map[0xA9] = {both, false, word_or_double};
    set_range(map, 0xB0, 0xB7, {plain, false, byte});  // mov
    set_range(map, 0xB8, 0xBF, {both, false, up_to_quad});
    set(map, {0xC0, 0xC1}, {both, true, byte});  // shifts
    map[0xC3] = {plain | rep};                   // ret
    map[0xC6] = {both, true, byte, 1, 1};        // mov
    map[0xC7] = {both, true, word_or_double, 1, 1};
    map[0xC9] = {plain};                         // leave
    map[0xCC] = {plain};                         // int3
    set_range(map, 0xD0, 0xD3, {both, true});    // shifts
    map[0xE8] = {both, false, word_or_double};   // call; with a size only beside REX.W, as for thread-local variables
    map[0xE9] = {plain, false, word_or_double};  // jmp
    map[0xEB] = {plain, false, byte};
    set(map, {0xF6, 0xF7}, {both, true, none, 0xFD, 0xFD});  // test, which has an immediate, not, neg, mul, div
    map[0xFE] = {both, true, none, 3, 3};                    // inc, dec
    map[0xFF] = {plain, true, none, 0x57, 0x57};             // inc, dec, call, jmp, push
    return map;
}

constexpr Map two_bytes() {  // after 0F
    Map map{};
    map[0x0B] = {plain};                      // ud2
    set_range(map, 0x10, 0x11, {any, true});  // movups and so on
    map[0x12] = {plain | rep | repne, true};
    set(map, {0x13, 0x17}, {both, true, none, 0xFF, 0});
    set(map, {0x14, 0x15}, {both, true});
    map[0x16] = {plain | rep, true};
    map[0x18] = {plain, true, none, 0x0F, 0};  // prefetch
    map[0x1F] = {both, true, none, 1, 1};      // nop
    set(map, {0x28, 0x29, 0x2E, 0x2F}, {both, true});
    set(map, {0x2A, 0x2C, 0x2D}, {rep | repne, true});
    map[0x2B] = {both, true, none, 0xFF, 0};
    map[0x31] = {plain};                       // rdtsc
    set_range(map, 0x40, 0x4F, {both, true});  // cmov
    map[0x50] = {both, true, none, 0, 0xFF};
    map[0x51] = {any, true};
    set_range(map, 0x54, 0x57, {both, true});
    set_range(map, 0x58, 0x5A, {any, true});
    map[0x5B] = {both | rep, true};
    set_range(map, 0x5C, 0x5F, {any, true});
    set_range(map, 0x60, 0x6E, {size, true});
    map[0x6F] = {size | rep, true};
    map[0x70] = {size | rep | repne, true, byte};
    set(map, {0x71, 0x72}, {size, true, byte, 0, 0x54});  // shifts by an immediate: /2, /4, /6
    map[0x73] = {size, true, byte, 0, 0xCC};
    set_range(map, 0x74, 0x76, {size, true});
    set(map, {0x7E, 0x7F}, {size | rep, true});
    set_range(map, 0x80, 0x8F, {plain, false, word_or_double});  // jcc
    set_range(map, 0x90, 0x9F, {plain, true});                   // setcc
    map[0xA2] = {plain};                                         // cpuid
    set(map, {0xA3, 0xAB, 0xB3, 0xBB}, {both, true});            // bt and so on
    set(map, {0xA4, 0xAC}, {both, true, byte});                  // shld, shrd
    set(map, {0xA5, 0xAD, 0xAF}, {both, true});                  // and imul
    set(map, {0xB0, 0xB1, 0xC0, 0xC1}, {both, true});            // cmpxchg, xadd
    set(map, {0xB6, 0xB7, 0xBE, 0xBF}, {both, true});            // movzx, movsx
    map[0xB8] = {rep, true};                                     // popcnt
    map[0xBA] = {both, true, byte, 0xF0, 0xF0};                  // bt by an immediate
    set(map, {0xBC, 0xBD}, {both | rep, true});
    map[0xC2] = {any, true, byte};   // cmpps and so on
    map[0xC4] = {size, true, byte};  // pinsrw
    map[0xC5] = {size, true, byte, 0, 0xFF};
    map[0xC6] = {both, true, byte};       // shufps
    set_range(map, 0xC8, 0xCF, {plain});  // bswap
    set_range(map, 0xD1, 0xD6, {size, true});
    map[0xD7] = {size, true, none, 0, 0xFF};
    set_range(map, 0xD8, 0xE5, {size, true});
    map[0xE6] = {size | rep | repne, true};
    map[0xE7] = {size, true, none, 0xFF, 0};
    set_range(map, 0xE8, 0xEF, {size, true});
    set_range(map, 0xF1, 0xF6, {size, true});
    set_range(map, 0xF8, 0xFE, {size, true});
    return map;
}

constexpr Map one = one_byte();
constexpr Map two = two_bytes();
constexpr unsigned test_by_immediate = 0xF6;
constexpr unsigned operand_bytes = 5;  // ModRM and a displacement of 32 bits

// ModRM, SIB and displacement. `at` is the ModRM byte's.
std::optional<unsigned> address_bytes(std::span<const std::uint8_t> code, unsigned at) {
    const unsigned mod = code[at] >> 6;
    const unsigned rm = code[at] & 7u;
    if (mod == 3) return 1;
    if (rm == 4) {
        if (at + 1 >= code.size()) return std::nullopt;
        const bool no_base = mod == 0 && (code[at + 1] & 7u) == 5;
        return 2 + (mod == 1 ? 1u : mod == 2 || no_base ? 4u : 0u);
    }
    return 1 + (mod == 1 ? 1u : mod == 2 || rm == 5 ? 4u : 0u);
}

// With an operand in memory.
bool may_lock(bool escaped, unsigned opcode, unsigned extension) {
    if (escaped) return opcode == 0xB0 || opcode == 0xB1 || opcode == 0xC0 || opcode == 0xC1;  // cmpxchg, xadd
    if (opcode < 0x38) return (opcode & 7) < 2;                                                // add, or, and so on
    if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83) return extension != 7;
    return (opcode == 0x86 || opcode == 0x87) ||  // xchg
           ((opcode == 0xFE || opcode == 0xFF) && extension < 2);
}

unsigned immediate_bytes(Immediate immediate, bool has_size, bool wide) {
    switch (immediate) {
        case none:
            return 0;
        case byte:
            return 1;
        case word_or_double:
            return has_size && !wide ? 2 : 4;
        case up_to_quad:
            return wide ? 8 : has_size ? 2 : 4;
    }
    return 0;
}

}  // namespace

std::optional<Length> instruction_length(std::span<const std::uint8_t> code) {
    unsigned at = 0;
    bool has_lock = false;
    std::uint8_t mandatory = 0;
    bool has_size = false;
    for (; at < code.size(); ++at) {
        const std::uint8_t prefix = code[at];
        if (prefix == 0x66) {
            has_size = true;
        } else if (prefix == 0xF3 || prefix == 0xF2) {
            if (mandatory != 0) return std::nullopt;
            mandatory = prefix == 0xF3 ? rep : repne;
        } else if (prefix == 0xF0) {
            has_lock = true;
        } else if (prefix != 0x2E && prefix != 0x64) {  // cs, which is ignored, and fs
            break;
        }
    }
    if (mandatory != 0 && has_size) return std::nullopt;
    if (mandatory == 0) mandatory = has_size ? size : plain;
    const bool has_rex = at < code.size() && (code[at] & 0xF0) == 0x40;
    const bool wide = has_rex && (code[at] & 8) != 0;
    at += has_rex ? 1 : 0;
    const bool escaped = at < code.size() && code[at] == 0x0F;
    at += escaped ? 1 : 0;
    if (at >= code.size()) return std::nullopt;
    const unsigned opcode = code[at++];
    const Form& form = (escaped ? two : one)[opcode];
    if ((form.prefixes & mandatory) == 0 || (opcode == 0xE8 && !escaped && has_size && !wide)) return std::nullopt;
    unsigned operand_at = 0;
    if (form.modrm) {
        if (at >= code.size()) return std::nullopt;
        const bool is_register = code[at] >> 6 == 3;
        const unsigned extension = code[at] >> 3 & 7u;
        if (((is_register ? form.registers : form.memory) >> extension & 1) == 0) return std::nullopt;
        if (has_lock && (is_register || !may_lock(escaped, opcode, extension))) return std::nullopt;
        const auto count = address_bytes(code, at);
        if (!count) return std::nullopt;
        if ((code[at] & 0xC7) == 0x05) operand_at = at;
        at += *count;
        if (!escaped && extension == 0 && (opcode & ~1u) == test_by_immediate)
            at += immediate_bytes(opcode == test_by_immediate ? byte : word_or_double, has_size, wide);
    } else if (has_lock) {
        return std::nullopt;
    }
    at += immediate_bytes(form.immediate, has_size, wide);
    if (at > longest_instruction) return std::nullopt;
    return Length{at, operand_at};
}

std::optional<std::vector<Located>> locate(const image::Library& image, const FunctionReferences& references) {
    const image::Symbol& function = references.function;
    const std::uintptr_t end = std::min<std::uintptr_t>(function.address + function.size, image.text_end());
    std::vector<Located> found;
    std::uintptr_t position = function.address;  // always the start of an instruction
    if (position < image.text_begin() || position >= end) return std::nullopt;
    for (const std::uintptr_t place : references.places) {
        while (position <= place) {
            if (position >= end) return found;
            const std::uint8_t* code = image.text() + (position - image.text_begin());
            const auto length = instruction_length({code, std::min(end - position, longest_instruction)});
            if (!length) return std::nullopt;
            if (length->operand_at != 0 && position + length->operand_at == place &&
                length->operand_at + operand_bytes <= length->length && length->length <= end - position)
                found.emplace_back(position, length->length, length->operand_at);
            position += length->length;
        }
    }
    return found;
}

}  // namespace optctx::arch

#include "arch/tracing.hpp"

#include "arch/faults.hpp"
#include "arch/lengths.hpp"
#include "arch/x86_64/bytes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

namespace optctx::arch {
namespace tracing {
namespace {

enum Register : unsigned { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, count = 16 };
constexpr unsigned arguments[] = {rdi, rsi, rdx, rcx, r8, r9};
constexpr unsigned changed_by_calls[] = {rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11};

using Registers = std::array<Value, count>;

// The parts of an instruction of the usual kinds.
struct Parts {
    explicit Parts(const std::uint8_t* code) {
        for (; code[at] == 0x66 || code[at] == 0xF2 || code[at] == 0xF3 || code[at] == 0xF0 || code[at] == 0x2E ||
               code[at] == 0x64;
             ++at)
            has_prefix = true;
        if ((code[at] & 0xF0) == 0x40) rex = code[at++];
        escaped = code[at] == 0x0F;
        at += escaped ? 1 : 0;
        opcode = code[at++];
        modrm = code[at];
        reg = (modrm >> 3 & 7u) | (rex & 4u) << 1;
        rm = (modrm & 7u) | (rex & 1u) << 3;
    }
    bool wide() const { return (rex & 8) != 0; }
    bool is_register() const { return modrm >> 6 == 3; }
    unsigned extension() const { return modrm >> 3 & 7u; }

    unsigned at = 0;  // of ModRM, if it has one
    bool has_prefix = false;
    std::uint8_t rex = 0;
    bool escaped = false;
    unsigned opcode = 0;
    std::uint8_t modrm = 0;
    unsigned reg = 0, rm = 0;
};

bool is_jump_if(const Parts& i) { return i.escaped ? (i.opcode & 0xF0) == 0x80 : (i.opcode & 0xF0) == 0x70; }

// To any place of the function, as far as this can see.
bool jumps_by_table(const Parts& i) { return !i.escaped && i.opcode == 0xFF && i.extension() == 4 && i.is_register(); }

constexpr std::uint8_t never_changing[] = {
    0x38, 0x39, 0x3A, 0x3B, 0x3C, 0x3D, 0x84, 0x85, 0xA8, 0xA9,  // cmp, test
    0x90, 0xCC, 0x68, 0x6A, 0xC3, 0xEB, 0xE9,                    // nop, int3, push, ret, jmp
};
constexpr std::uint8_t never_changing_escaped[] = {
    0x0B, 0x1F, 0x10, 0x11, 0x28, 0x29, 0x57, 0x6F, 0x7F, 0xEF,  // ud2, nop, and what moves vectors
};

// Whether no general register changes, whatever the operands are.
bool only_looks(const Parts& i) {
    const auto is_one_of = [&](std::span<const std::uint8_t> all) {
        return std::ranges::find(all, i.opcode) != all.end();
    };
    if (i.escaped) return is_jump_if(i) || is_one_of(never_changing_escaped);
    if (is_one_of(never_changing) || is_jump_if(i) || (i.opcode & 0xF8) == 0x50) return true;
    if (i.opcode == 0x80 || i.opcode == 0x81 || i.opcode == 0x83) return i.extension() == 7;  // cmp
    if (i.opcode == 0xF6 || i.opcode == 0xF7) return i.extension() == 0;                      // test
    if (i.opcode == 0xFF) return i.extension() == 6;                                          // push
    return !i.is_register() && ((i.opcode & 0xFE) == 0x88 || (i.opcode & 0xFE) == 0xC6);      // mov to memory
}

class Tracer {
public:
    Tracer(const image::Library& image, const image::Symbol& function)
        : image_(image), begin_(function.address), end_(function.address + function.size) {}

    std::optional<std::vector<Step>> run() {
        if (begin_ < image_.text_begin() || end_ > image_.text_end() || !find_instructions()) return std::nullopt;
        while (std::exchange(changed_, false)) {  // until what is known where jumps lead back to holds for them too
            steps_.clear();
            reached_ = true;
            registers_ = {};
            for (unsigned i = 0; i < std::size(arguments); ++i) registers_[arguments[i]] = {Value::argument, i};
            for (const auto& [address, length] : instructions_) {
                if (const auto state = arriving_.find(address); state != arriving_.end()) {
                    if (std::exchange(reached_, true))
                        meet(registers_, state->second);
                    else
                        registers_ = state->second;
                }
                if (reached_) follow(address, length);
            }
        }
        return std::move(steps_);
    }

private:
    const std::uint8_t* code(std::uintptr_t address) const { return image_.text() + (address - image_.text_begin()); }

    bool find_instructions() {
        for (std::uintptr_t address = begin_; address < end_;) {
            const auto known = instruction_length({code(address), std::min(end_ - address, longest_instruction)});
            if (!known || known->length > end_ - address || jumps_by_table(Parts(code(address)))) return false;
            instructions_.push_back({address, *known});
            address += known->length;
        }
        return true;
    }

    static std::optional<std::uintptr_t> jump_target(const Parts& i, const std::uint8_t* distance,
                                                     std::uintptr_t next) {
        if (!is_jump_if(i) && (i.escaped || (i.opcode != 0xE9 && i.opcode != 0xEB))) return std::nullopt;
        if (i.escaped || i.opcode == 0xE9) return target_of(next, distance);
        return next + static_cast<std::uintptr_t>(std::intptr_t{read<std::int8_t>(distance)});
    }

    // Keeps what both know. Returns whether that is less than `registers` did.
    static bool meet(Registers& registers, const Registers& others) {
        const Registers before = registers;
        for (unsigned i = 0; i < count; ++i)
            if (!(registers[i] == others[i])) registers[i] = {};
        return registers != before;
    }

    // The slot that the code at an address leads on through, as the linker's stubs do: endbr64, bnd, jmp [rip + ...].
    // Or the address, if it does not.
    std::uintptr_t behind_stub(std::uintptr_t address) const {
        constexpr std::size_t most = 16;
        if (!image_.contains(address) || !image_.contains(address + most)) return address;
        const std::vector<std::uint8_t> stub = image_.initial_bytes(address, most);
        std::size_t at = read<std::uint32_t>(stub.data()) == 0xFA1E0FF3 ? 4 : 0;
        at += stub[at] == 0xF2 ? 1 : 0;
        if (stub[at] != 0xFF || stub[at + 1] != 0x25) return address;
        return target_of(address + at + 6, &stub[at + 2]);
    }

    void called(std::uintptr_t target) {
        steps_.push_back({Step::call, target, registers_[rdi], registers_[rsi]});
        for (const unsigned each : changed_by_calls) registers_[each] = {};
    }

    void arrive(std::uintptr_t target) {
        if (target < begin_ || target >= end_) return;
        const auto [state, is_new] = arriving_.try_emplace(target, registers_);
        changed_ |= is_new || meet(state->second, registers_);
    }

    void follow(std::uintptr_t address, const Length& known) {
        const std::uint8_t* bytes = code(address);
        const Parts i(bytes);
        const std::uintptr_t next = address + known.length;
        const auto place = [&] { return target_of(next, bytes + i.at + 1); };
        if (const auto target = jump_target(i, bytes + i.at, next)) {
            arrive(*target);
            if (is_jump_if(i)) return;
            reached_ = false;
            if (*target < begin_ || *target >= end_) called(behind_stub(*target));
            return;
        }
        if (!i.escaped && i.opcode == 0xE8) return called(behind_stub(target_of(next, bytes + i.at)));
        if (!i.escaped && i.opcode == 0xFF && (i.extension() == 2 || i.extension() == 4)) {
            if (i.modrm >> 6 == 1 && (i.modrm & 7) != 4 && registers_[i.rm].kind == Value::first_word)
                steps_.push_back({Step::virtual_call, bytes[i.at + 1], registers_[i.rm], {}});
            called(known.operand_at != 0 ? place() : 0);
            reached_ = i.extension() == 2;
            return;
        }
        if (!i.escaped && i.opcode == 0x89 && i.wide() && known.operand_at != 0 && !i.has_prefix)
            steps_.push_back({Step::store, place(), registers_[i.reg], {}});
        reached_ = i.escaped ? i.opcode != 0x0B : i.opcode != 0xC3;  // ud2, ret
        if (only_looks(i)) return;
        move(i, known, bytes, place);
    }

    template <class Place>
    void move(const Parts& i, const Length& known, const std::uint8_t* bytes, Place place) {
        const bool plain = !i.escaped && !i.has_prefix;
        if (plain && (i.opcode & 0xF8) == 0xB8 && !i.wide()) {
            registers_[(i.opcode & 7) | (i.rex & 1u) << 3] = {Value::constant, read<std::uint32_t>(bytes + i.at)};
        } else if (plain && i.opcode == 0x8D && i.wide() && known.operand_at != 0) {
            registers_[i.reg] = {Value::constant, place()};
        } else if (plain && i.opcode == 0x89 && i.wide() && i.is_register()) {
            registers_[i.rm] = registers_[i.reg];
        } else if (plain && i.opcode == 0x8B && i.wide()) {
            Value value;
            if (i.is_register()) {
                value = registers_[i.rm];
            } else if (known.operand_at != 0 && image_.is_slot(place())) {
                std::uint64_t word = 0;
                if (os::read_checked(place(), &word, sizeof word)) value = {Value::constant, word};
            } else if (i.modrm >> 6 == 0 && (i.modrm & 7) != 4 && registers_[i.rm].kind == Value::argument) {
                value = {Value::first_word, registers_[i.rm].number};
            }
            registers_[i.reg] = value;
        } else {
            clear(i);
        }
    }

    // For every other instruction: whatever it may change.
    void clear(const Parts& i) {
        if (!i.escaped && ((i.opcode & 0xF8) == 0x58 || (i.opcode & 0xF0) == 0xB0 || (i.opcode & 0xF8) == 0x90)) {
            registers_[(i.opcode & 7) | (i.rex & 1u) << 3] = {};
        } else {
            registers_[i.reg] = {};
            if (i.is_register()) registers_[i.rm] = {};
        }
        const bool of_bytes = i.escaped ? (i.opcode & 0xF0) == 0x90 || i.opcode == 0xB0 || i.opcode == 0xC0
                                        : (i.opcode & 1) == 0 || (i.opcode & 0xF8) == 0xB0;
        if (i.rex == 0 && of_bytes) {  // ah, ch, dh and bh have the numbers of others
            registers_[i.reg & 3] = {};
            registers_[i.opcode & 3] = {};
            if (i.is_register()) registers_[i.rm & 3] = {};
        }
        for (const unsigned each : {rax, rcx, rdx}) registers_[each] = {};  // mul, div, cpuid, cmpxchg and so on
        if (!i.escaped && i.opcode >= 0xA4 && i.opcode <= 0xAB) registers_[rsi] = registers_[rdi] = {};  // movs, stos
        if (!i.escaped && i.opcode == 0xC9) registers_[rbp] = {};                                        // leave
        if (!i.escaped) return;
        if (i.opcode == 0xA2) registers_[rbx] = {};                                          // cpuid
        if ((i.opcode & 0xF8) == 0xC8) registers_[(i.opcode & 7) | (i.rex & 1u) << 3] = {};  // bswap
    }

    const image::Library& image_;
    std::uintptr_t begin_, end_;
    std::vector<std::pair<std::uintptr_t, Length>> instructions_;
    std::map<std::uintptr_t, Registers> arriving_;  // where jumps lead
    bool changed_ = true;
    bool reached_ = true;  // else the next instruction is reached by jumps alone, if at all
    Registers registers_{};
    std::vector<Step> steps_;
};

}  // namespace
}  // namespace tracing

std::optional<std::vector<Step>> trace(const image::Library& image, const image::Symbol& function) {
    return tracing::Tracer(image, function).run();
}

}  // namespace optctx::arch

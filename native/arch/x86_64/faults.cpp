#include "arch/faults.hpp"

#include "os/os.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace optctx::arch {
namespace {

constexpr std::array<int, 16> places{REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                     REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

}  // namespace

const unsigned general_registers = places.size();

std::uintptr_t instruction_of(const ucontext_t& context) noexcept {
    return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
}

std::uintptr_t general_register(const ucontext_t& context, unsigned number) noexcept {
    return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[places[number]]);
}

void set_general_register(ucontext_t& context, unsigned number, std::uintptr_t value) noexcept {
    context.uc_mcontext.gregs[places[number]] = static_cast<greg_t>(value);
}

const std::size_t jump_size = 5;
const std::uint8_t filler = 0xCC;  // int3

void append_jump(std::vector<std::uint8_t>& code, std::uintptr_t next_instruction, std::uintptr_t to) {
    const auto distance = static_cast<std::intptr_t>(to - next_instruction);
    const auto rel32 = static_cast<std::int32_t>(distance);
    if (rel32 != distance)
        throw std::runtime_error("no jump reaches from " + os::hex(next_instruction) + " to " + os::hex(to));
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&rel32);
    code.push_back(0xE9);  // jmp rel32
    code.insert(code.end(), bytes, bytes + sizeof rel32);
}

}  // namespace optctx::arch

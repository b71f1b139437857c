// What a signal handler learns from an interrupted thread's registers, and changes in them; and the jumps that lead
// from a patched instruction to its trampoline and back.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace optctx::arch {

// The address of the interrupted instruction.
std::uintptr_t instruction_of(const ucontext_t& context) noexcept;

// General registers are numbered as in the processor's instructions.
extern const unsigned general_registers;
std::uintptr_t general_register(const ucontext_t& context, unsigned number) noexcept;
void set_general_register(ucontext_t& context, unsigned number, std::uintptr_t value) noexcept;

inline constexpr std::size_t longest_instruction = 15;  // bytes, of every processor here

extern const std::size_t jump_size;  // bytes; an instruction must be at least as long to be patched
extern const std::uint8_t filler;    // a byte of code that is never reached

// Appends a jump that ends before `next_instruction`. Throws std::runtime_error if it cannot reach `to`.
void append_jump(std::vector<std::uint8_t>& code, std::uintptr_t next_instruction, std::uintptr_t to);

}  // namespace optctx::arch

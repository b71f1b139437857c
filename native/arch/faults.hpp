// What a signal handler learns from an interrupted thread's registers, and changes in them.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace optctx::arch {

enum class Attempt { read, write, fetch };

// Of a SIGSEGV: what the instruction attempted.
Attempt attempt_of(const ucontext_t& context) noexcept;
// The address of the interrupted instruction.
std::uintptr_t instruction_of(const ucontext_t& context) noexcept;

// General registers are numbered as in the processor's instructions.
extern const unsigned general_registers;
std::uintptr_t general_register(const ucontext_t& context, unsigned number) noexcept;
void set_general_register(ucontext_t& context, unsigned number, std::uintptr_t value) noexcept;

}  // namespace optctx::arch

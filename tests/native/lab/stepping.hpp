// What an instruction that faulted attempted, and a single step of it while protected pages are open.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace optctx::lab::stepping {

enum class Attempt { read, write, fetch };

// Of a SIGSEGV: what the instruction attempted.
Attempt attempt_of(const ucontext_t& context) noexcept;

// Lets the interrupted instruction use the page at `page`, which has been opened. A trap follows the instruction. May
// be called again before that: an instruction can touch several pages. Returns false for more pages than can be closed
// again.
bool begin(ucontext_t& context, std::uintptr_t page) noexcept;
// If this trap ends the step of this thread, calls `close` with every page that was opened, and ends single-stepping.
bool end(const siginfo_t& trap, ucontext_t& context, void (*close)(std::uintptr_t) noexcept) noexcept;

// Whether an instruction that faulted on a page that is open by now may run again. True only once in a row.
bool retry(std::uintptr_t instruction) noexcept;

}  // namespace optctx::lab::stepping

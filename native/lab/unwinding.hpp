// The call stack of a thread that a signal interrupted in a trampoline.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace optctx::lab {

// Code that optctx made has no unwind information. This says what its frames look like.
struct MadeCode {
    // Code that runs instead of an instruction of LLVM and calls a function: the frame is that of the instruction.
    struct Call {
        std::uintptr_t begin;
        std::uintptr_t end;
        std::uintptr_t site;
    };
    std::vector<Call> calls;  // by address
    // Instructions of trampolines that use the word of a view.
    struct Use {
        std::uintptr_t address;
        std::uintptr_t site;  // the instruction that the trampoline stands in for
        unsigned scratch;     // number of the trampoline's register
        bool saved;           // it has that register on the stack
    };
    std::vector<Use> uses;  // by address
    // Thunks, each with a frame of its own (optctx/arch/x86_64/intercepting.py).
    std::uintptr_t thunks_begin = 0;
    std::uintptr_t thunks_end = 0;
};

struct Unwound {
    std::size_t count = 0;  // of addresses
    bool whole = false;     // false if outer frames are missing
};

// Fills in an address for each frame but those of `made`, the innermost first: the site, then one inside the call
// instruction of each caller. Call in the signal handler, with the context that the kernel gave it, at one of the
// `uses` of `made`; it is changed and restored. Allocates nothing.
Unwound unwind(ucontext_t& context, const MadeCode& made, std::span<std::uintptr_t> addresses) noexcept;

}  // namespace optctx::lab

// The signals that an audit works with, put before whatever handles them already.
#pragma once

#include <signal.h>
#include <ucontext.h>

namespace optctx::audit {

// Called in a signal handler. True: the signal was the audit's, and the thread can go on.
using SignalHandler = bool (*)(const siginfo_t&, ucontext_t&) noexcept;

// Puts the handlers before those of SIGSEGV and SIGTRAP. What is not the audit's goes to those as if nobody stood
// before them. Throws std::runtime_error where somebody else's handler stands before ones of an earlier audit.
void install(SignalHandler on_fault, SignalHandler on_trap);
// Takes them away again unless somebody else's handler stands before them, which may pass signals on.
void uninstall() noexcept;

}  // namespace optctx::audit

// Emulates the most frequent reads of neighbours. A single step would cost a second signal and, in a virtual machine, a
// VM exit.
#pragma once

#include "os/os.hpp"

#include <ucontext.h>

#include <cstdint>

namespace optctx::arch {

// If the interrupted instruction is a plain load or compare that faulted reading `address`, emulates it and moves the
// thread past it. Otherwise changes nothing and returns false. Safe in a signal handler.
bool do_load(ucontext_t& context, std::uintptr_t address, const os::OwnMemory& memory) noexcept;

}  // namespace optctx::arch

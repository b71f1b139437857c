// The commonest reads of neighbours, done by hand: a single step is a second signal and, in a virtual machine, an exit.
#pragma once

#include "os/os.hpp"

#include <ucontext.h>

#include <cstdint>

namespace optctx::audit {

// If the interrupted instruction is a plain load or compare that reads at `address`, which it may not, does what it
// does and moves the thread past it. Otherwise changes nothing and is false. Safe in a signal handler.
bool do_load(ucontext_t& context, std::uintptr_t address, const os::OwnMemory& memory) noexcept;

}  // namespace optctx::audit

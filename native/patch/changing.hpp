// Who may change the library's code and tables.
#pragma once

#include "os/fork_locks.hpp"

namespace optctx::patch {

// Held from the first changed byte to the last, so that fork waits: a child has no thread that would go on.
inline auto& changing = *new os::ForkSafeMutex(os::Rank::code);

}  // namespace optctx::patch

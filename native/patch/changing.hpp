// The lock for changes to the library's code and tables.
#pragma once

#include "os/fork_locks.hpp"

namespace optctx::patch {

// Held from the first changed byte to the last, so that fork waits: no thread in a child would finish the change.
inline auto& changing = *new os::ForkSafeMutex(os::Rank::code);

}  // namespace optctx::patch

// Sends a thread that meets one of our breakpoints on to its trampoline.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace optctx::patch {

// Installs the SIGTRAP handler once and adds (site, trampoline) pairs, sorted by site, to what it knows.
// Neither is ever taken away: a thread may have met a breakpoint and not yet have been delivered the
// signal. Traps that are not ours go to the handler that was there before.
void expect_breakpoints(std::vector<std::pair<std::uintptr_t, std::uintptr_t>> pairs);

}  // namespace optctx::patch

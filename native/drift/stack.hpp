// The functions that this thread executes.
#pragma once

#include <cstdint>
#include <vector>

namespace optctx::drift {

// Returns an address in each function that this thread is executing, innermost first, as far as the stack can be
// unwound, at most 64.
std::vector<std::uintptr_t> native_stack();

}  // namespace optctx::drift

// The `thread` engine, for an image whose code is redirected: every thread reads its own storage. Only options that
// cannot be scoped are changed for all threads, under the gate.
#pragma once

#include "engines/engine.hpp"

namespace optctx::engines {

Engine& per_thread() noexcept;
// Shows the frame's values to LLVM on this thread without counting the thread at the gate. Leave the frame like any
// other.
void activate(Frame& frame);

}  // namespace optctx::engines

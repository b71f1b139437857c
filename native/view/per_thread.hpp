// The `thread` engine, for an image whose code is redirected: every thread reads its own storage. Only options that
// cannot be scoped are changed for all threads, under the gate.
#pragma once

#include "view/mechanism.hpp"

namespace optctx::view {

Mechanism& per_thread() noexcept;
// Shows the frame's values to LLVM on this thread without counting the thread at the gate. Leave the frame like any
// other.
void activate(Frame& frame);
// Switches an image to the engine `next` while no other thread is inside. May wait.
void hand_over(unsigned image, Mechanism& next);

}  // namespace optctx::view

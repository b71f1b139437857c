// The way of a process whose code is redirected: every thread reads storage of its own, and only options that cannot be
// scoped are changed for all, under the gate.
#pragma once

#include "view/way.hpp"

namespace optctx::view {

Way& per_thread() noexcept;
// What this thread reads becomes the values of the frame's context, and what it was before.
void activate(Frame& frame);
void deactivate(Frame& frame) noexcept;
// Makes `next` the way of this process at a moment when no other thread is inside; may wait for that.
void hand_over(Way& next);

}  // namespace optctx::view

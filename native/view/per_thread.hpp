// The way of a process whose code is redirected: every thread reads storage of its own, and only options that cannot be
// scoped are changed for all, under the gate.
#pragma once

#include "view/way.hpp"

namespace optctx::view {

Way& per_thread() noexcept;
// Has this thread read the values of the frame's context, without asking anybody; to be left as any frame.
void activate(Frame& frame);
// Makes `next` the way of this process at a moment when no other thread is inside; may wait for that.
void hand_over(Way& next);

}  // namespace optctx::view

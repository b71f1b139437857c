// The way of a process whose code is left as it is: values are put into LLVM's own storage, so threads with the same
// values share it, and threads with different values take turns.
#pragma once

#include "view/way.hpp"

namespace optctx::view {

// First come, first served. A thread holds its turn from entering a context to leaving it, and a compilation outside of
// any context holds one for the process-wide values. A thread that waits to enter a context inside another lends
// its turn meanwhile, so threads never wait for each other in a circle, and has the outer values back, with what LLVM
// wrote to them, as soon as it leaves the inner ones. Contexts inside others are not shared: leaving never waits.
Way& turns() noexcept;

}  // namespace optctx::view

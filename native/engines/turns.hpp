// The `exclusive` engine, for images whose code is not changed: it puts values into LLVM's own storage. Threads with
// equal values share a turn; threads with different values take turns.
#pragma once

#include "engines/engine.hpp"

namespace optctx::engines {

// First come, first served. A thread holds its turn from entering a context until leaving it. A compilation outside any
// context holds a turn for the process-wide values. A thread that waits to enter a nested context lends its turn, so
// threads never wait for each other in a cycle; no signal handler runs on it until it is inside. When it leaves the
// inner contexts, it immediately regains the outer values, with what LLVM wrote to them. Nested contexts are not
// shared, so leaving never waits.
//
// All such images of a process share the turn: with a turn for each, threads could wait for each other in a cycle. For
// the same reason, options of the other images cannot be changed process-wide while an image uses this engine.
Engine& turns() noexcept;

}  // namespace optctx::engines

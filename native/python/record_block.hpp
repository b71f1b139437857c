// The `with` block of `record()`.
#pragma once

#include "python/block.hpp"

#include <nanobind/nanobind.h>

namespace optctx::recording {

// Adds the base class of the block. The block's class implements four Python methods. `_prepare()` returns the value of
// the `with` statement, with a `_recorder` that has not started, and leaves it in `_log`. `_finish()` runs after the
// recorder has stopped. `_cannot_start(text)` and `_cannot_stop(text)` return exceptions.
void add_base(nanobind::handle module);

}  // namespace optctx::recording

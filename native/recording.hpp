// The `with` block of `record()`.
#pragma once

#include "blocks/block.hpp"

#include <nanobind/nanobind.h>

namespace optctx::recording {

// The base of the block's class, which has methods of Python: `_prepare()` returns what `with` gives, with a
// `_recorder` that has not started, and leaves it in `_log`; `_finish()` is called when that has stopped;
// `_cannot_start(text)` and `_cannot_stop(text)` return exceptions.
void add_base(nanobind::handle module);

}  // namespace optctx::recording

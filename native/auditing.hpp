// The `with` block of `audit()`.
#pragma once

#include "blocks/block.hpp"

#include <nanobind/nanobind.h>

namespace optctx::auditing {

// The base of the block's class, which has methods of Python: `_prepare()` returns what `with` gives and leaves the
// Space in `_space`; `_finish(report, failed)` is called when the audit has ended; `_cannot_start(text)` and
// `_cannot_stop()` return exceptions.
void add_base(nanobind::handle module);
// Whether a block is entered.
bool is_on();

}  // namespace optctx::auditing

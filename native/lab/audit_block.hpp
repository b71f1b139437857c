// The `with` block of `audit()`.
#pragma once

#include "python/block.hpp"

#include <nanobind/nanobind.h>

namespace optctx::auditing {

// Adds the base class of the block. The block's class implements four Python methods. `_prepare()` returns the value of
// the `with` statement and leaves the Space in `_space`. `_finish(report, failed)` runs after the audit has ended.
// `_cannot_start(text)` and `_cannot_stop()` return exceptions.
void add_base(nanobind::handle module);
// Whether a block is entered.
bool is_on();

}  // namespace optctx::auditing

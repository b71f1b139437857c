// llvmlite's lock, which every call of `llvmlite.binding.ffi.lib` holds. Its own methods are Python code: a signal
// handler that raises in them leaves the lock held, and other threads wait for ever.
#pragma once

#include "blocks/block.hpp"

namespace optctx::llvmlite_lock {

// Gives `llvmlite.binding.ffi.lib._lock` a class that has the same methods, native; once.
void make_safe(nanobind::handle lock);
// Of a lock after `make_safe`.
extern const blocks::Kind block;
// For a thread that still holds it for a block that is gone.
void abandon(view::Ticket ticket) noexcept;

}  // namespace optctx::llvmlite_lock

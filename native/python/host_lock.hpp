// llvmlite's lock, which every call of `llvmlite.binding.ffi.lib` holds. Its own methods are Python code: if a signal
// handler raises inside them, the lock stays held and other threads wait forever.
#pragma once

#include "python/block.hpp"

namespace optctx::llvmlite_lock {

// Gives `llvmlite.binding.ffi.lib._lock` a class with the same methods in native code. Call once.
void make_safe(nanobind::handle lock);
// For a lock after `make_safe`.
extern const blocks::Kind block;
// Releases the lock if this thread still holds it for a block that is gone.
void abandon(scopes::Ticket ticket) noexcept;

}  // namespace optctx::llvmlite_lock

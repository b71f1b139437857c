// Implements the C interface of the module (optctx/interface.h), with hooks for what needs Python.
#pragma once

#include "contexts/context.hpp"
#include "engines/engine.hpp"

#include <memory>

namespace optctx::interface {

// Returns the context that is bound to the image's LLVMContext at this address, or null. Called without the GIL.
using FindBound = std::shared_ptr<const contexts::Context> (*)(unsigned image, const void* llvm_context);
// Until this is called, no LLVMContext counts as bound.
void set_find_bound(FindBound find) noexcept;

// Admits this thread to a frame, like scopes::admit, and waits without holding what others may need. Throws what
// engines::Engine::admit throws.
using LetIn = void (*)(engines::Frame& frame);
// Until this is called, scopes::admit does.
void set_let_in(LetIn let_in) noexcept;

// Has Python publish the options of the image that were registered late. Called without the GIL, and needs it.
using TakeInLate = void (*)(unsigned image) noexcept;
// Until this is called, only options that were published are found.
void set_take_in_late(TakeInLate take_in) noexcept;

}  // namespace optctx::interface

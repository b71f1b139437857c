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

}  // namespace optctx::interface

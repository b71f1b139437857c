// Implements the C interface of the module (optctx/interface.h), with a hook for looking up bindings.
#pragma once

#include "contexts/context.hpp"

#include <memory>

namespace optctx::interface {

// Returns the context that is bound to the image's LLVMContext at this address, or null. Called without the GIL.
using FindBound = std::shared_ptr<const contexts::Context> (*)(unsigned image, const void* llvm_context);
// Until this is called, no LLVMContext counts as bound.
void set_find_bound(FindBound find) noexcept;

}  // namespace optctx::interface

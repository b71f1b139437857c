// The C interface of the module (optctx/interface.h), and what it asks of others.
#pragma once

#include "view/context.hpp"

#include <memory>

namespace optctx::interface {

// The context that is bound to the LLVMContext at this address, or null. Called without Python's lock.
using FindBound = std::shared_ptr<const view::Context> (*)(const void* llvm_context);
// Until it is set, nothing is bound.
void set_find_bound(FindBound find) noexcept;

}  // namespace optctx::interface

// Implements the C interface of the module (optctx/interface.h), with hooks for what needs Python.
#pragma once

#include "scopes/frame.hpp"

namespace optctx::interface {

// Admits this thread to a frame, like scopes::admit, and waits without holding what others may need. Throws what
// scopes::admit throws.
using LetIn = void (*)(scopes::Frame& frame);

// Call before a table is published: nothing enters a scope without one.
void use(LetIn let_in) noexcept;

}  // namespace optctx::interface

// Implements the C interface of the module (optctx/interface.h), with hooks for what needs Python.
#pragma once

#include "scopes/frame.hpp"

namespace optctx::interface {

// Admits this thread to a frame, like scopes::admit, and waits without holding what others may need. Throws what
// scopes::admit throws.
using LetIn = void (*)(scopes::Frame& frame);
// Has Python publish the options of the image that were registered late. Called without the GIL, and needs it.
using TakeInLate = void (*)(unsigned image) noexcept;

// Call before a table is published: nothing asks for either without one.
void use(LetIn let_in, TakeInLate take_in_late) noexcept;

}  // namespace optctx::interface

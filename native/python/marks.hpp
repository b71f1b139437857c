// Marks (scopes/mark.hpp) as objects of Python, and the ContextVar's value of a task.
#pragma once

#include "scopes/mark.hpp"

#include <nanobind/nanobind.h>

namespace optctx::marks {

// Makes the type. Call once.
void prepare();
// Makes a mark for an entry into the context of `owner`, in a task whose mark is `task` or null.
nanobind::object make(nanobind::handle owner, contexts::Context& context, const scopes::Mark* task);

// Return the mark that an object is; null for null.
scopes::Mark* of(nanobind::handle object) noexcept;
// Returns the mark of the innermost scope of an image: the given one, or one around it. Null if there is none.
scopes::Mark* in_image(unsigned image, scopes::Mark* mark) noexcept;
inline nanobind::handle object_of(const scopes::Mark& mark) noexcept { return static_cast<PyObject*>(mark.object); }
inline nanobind::handle owner_of(const scopes::Mark& mark) noexcept { return static_cast<PyObject*>(mark.owner); }
// The token with which the task forgets the mark, from entering to leaving.
nanobind::object& token_of(const scopes::Mark& mark) noexcept;

}  // namespace optctx::marks

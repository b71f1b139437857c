// The ContextVar in which every task keeps the mark of its innermost scope, and the notification of task switches.
// CPython has had these functions since 3.7 (switches: 3.14), but not in its stable ABI, so they are looked up by name.
#pragma once

#include <nanobind/nanobind.h>

namespace optctx::task_scope {

// Looks up the functions and sets the variable. Call first. Throws std::runtime_error if the interpreter lacks a
// function.
void use(nanobind::object variable);
// Returns the running task's mark; null outside any scope (if the variable is unset or None).
nanobind::object get();
// Sets the mark. Returns the token for `reset`.
nanobind::object set(nanobind::handle mark);
// Restores the mark from before `set`. Returns false, with nothing done, if another contextvars.Context is current than
// at `set`, or if the token was already used.
bool reset(nanobind::handle token);
// Whether the contextvars.Context in which the token was made is the current one, or one that the current one was
// entered from.
bool is_running(nanobind::handle token);
// Does the same as `reset` if another contextvars.Context is current, inside the one where the token was made. Returns
// false, with nothing done, if that one runs further out on this thread. If the current one is a copy that has `mark`,
// restores the mark there too.
bool reset_elsewhere(nanobind::handle token, nanobind::handle mark);
// Calls `on_switch` on every thread of this interpreter whenever its current contextvars.Context changes. Returns false
// if the interpreter does not report such switches.
bool watch(void (*on_switch)());

}  // namespace optctx::task_scope

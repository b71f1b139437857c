// The ContextVar in which every task keeps the mark of its innermost scope, and what tells of switches between tasks.
// CPython has had these functions since 3.7 (switches: 3.14), but not in its stable ABI: they are looked up by name.
#pragma once

#include <nanobind/nanobind.h>

namespace optctx::task_scope {

// The functions and the variable; to be called first. Throws std::runtime_error where the interpreter lacks them.
void use(nanobind::object variable);
// The running task's mark, null outside any scope (where the variable is unset or None).
nanobind::object get();
// Returns the token that `reset` takes.
nanobind::object set(nanobind::handle mark);
// Puts back what was before `set`. False, and nothing is done, where another contextvars.Context is current than then,
// or the token was used already.
bool reset(nanobind::handle token);
// The same where another one is current: in the Context where the token was made. False, and nothing is done, if that
// one runs further out on this thread. If the current Context is a copy that has `mark`, it is told as well.
bool reset_elsewhere(nanobind::handle token, nanobind::handle mark);
// Has `on_switch` called on every thread of this interpreter whenever its current contextvars.Context changes. False
// where the interpreter does not report that.
bool watch(void (*on_switch)());

}  // namespace optctx::task_scope

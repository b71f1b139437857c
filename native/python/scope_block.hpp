// Scopes of Python code: keeps what a thread shows (scopes/scope.hpp) and its task's mark (python/task_variable.hpp)
// consistent. Each change is one native step that executes no instruction of the interpreter.
#pragma once

#include "python/block.hpp"
#include "scopes/scope.hpp"

#include <nanobind/nanobind.h>

#include <optional>

namespace optctx::scoping {

// Attaches an image that was attached before.
void attach(unsigned image);

// Adds the base class of OptionContext, with `__enter__` and `__exit__`.
void add_base(nanobind::handle module);
// What its blocks do, but for `judge`, which is left to the caller.
extern const blocks::Kind unjudged;
// Returns the OptionContext of the innermost scope that the running task is in, of one image or of any. None outside.
nanobind::object task_owner(std::optional<unsigned> image);
// Returns the activation of the running task's scope in an image, if it is of this OptionContext and was entered on
// this thread. Null otherwise.
contexts::Activation* activation_of(unsigned image, nanobind::handle scope);

// Drops the references that have no owner any more. Call with the GIL.
void drop_orphans();
// Leaves every scope of this thread and its task, as after a fork.
void leave_all();
// Returns the OptionContext of the scope that this thread shows if another task, which is suspended, is inside it. None
// otherwise.
nanobind::object suspended();

// Called before every call that llvmlite makes into its image, with its lock held. Must not throw or wait.
void begin_library_call(unsigned image) noexcept;
// Called before optctx's own compilations in an image. Raises what entering raises, with nothing changed.
void begin_in_task(unsigned image);
// Called after both. Must not throw or wait.
void end_call() noexcept;
// Reports what LLVM did not read in a scope that was left, if the scope asks for that.
void judge(nanobind::handle scope, bool failed);

// Shows the scope of the running task. Called when tasks switch.
void follow_task();

}  // namespace optctx::scoping

// Scopes of Python code: keeps a thread's frames (scopes/scope.hpp) and its task's mark (python/task_variable.hpp)
// consistent. Each change is one native step that executes no instruction of the interpreter.
#pragma once

#include "python/block.hpp"
#include "scopes/scope.hpp"

#include <nanobind/nanobind.h>

#include <memory>

namespace optctx::scoping {

// Attaches an image that was attached before.
void attach(unsigned image);

// Adds the base class of OptionContext, with `__enter__` and `__exit__`.
void add_base(nanobind::handle module);
extern const blocks::Kind scope;
std::shared_ptr<contexts::Context> native_of(nanobind::handle scope);
// Returns the mark of the running task in an image, if its scope there is of this context. Invalid otherwise.
nanobind::object mark_of(unsigned image, nanobind::handle scope);

// Leaves every scope of this thread and its task, as after a fork.
void leave_all();
// Returns the mark of this thread's innermost scope if another task, which is suspended, is inside it. None otherwise.
nanobind::object suspended();

// Called around every call that llvmlite makes into its image, with its lock held. They must not throw or wait.
void begin_library_call(unsigned image) noexcept;
void end_library_call() noexcept;
// Called around compilations in an image. Throws what the native context throws, with nothing changed.
void begin_compilation(unsigned image);
void end_compilation() noexcept;
// Like `begin_compilation`, for optctx's own compilations. Raises what entering raises.
void begin_in_task(unsigned image);
// Reports what LLVM did not read in a scope that was left, if the scope asks for that.
void judge(nanobind::handle scope, bool failed);

// Leaves the scopes that no block of this thread holds any more, as far as possible now. Called wherever optctx
// examines the scopes of a thread.
void leave_abandoned() noexcept;

// Shows the scope of the running task. Called when tasks switch.
void follow_task();

}  // namespace optctx::scoping

// Scopes of Python code: a thread's frames (view/scope.hpp) and its task's mark (task_scope.hpp), together. Each change
// is one native step, with no instruction of the interpreter in it.
#pragma once

#include "blocks/block.hpp"
#include "view/scope.hpp"

#include <nanobind/nanobind.h>

#include <memory>

namespace optctx::scoping {

// Python functions for what is not the usual case. They run before anything has changed, or after everything has.
struct Helpers {
    nanobind::object attach;         // ()
    nanobind::object check_in_line;  // (context, "enter" or "leave") raises if another task is suspended here
    nanobind::object cannot_enter;   // (context, native exception class, text) -> exception
    nanobind::object cannot_leave;   // (context, text) -> exception
    nanobind::object judge;          // (context, whether its block failed)
};
void set_helpers(Helpers helpers);
// What attaches. Valid after `set_helpers`.
void attach();

// The base of OptionContext: it has `__enter__` and `__exit__`.
void add_base(nanobind::handle module);
extern const blocks::Kind scope;
std::shared_ptr<view::Context> native_of(nanobind::handle scope);

// Around every call that llvmlite makes, with its lock held: nothing may be thrown, nobody may wait.
void begin_library_call() noexcept;
void end_library_call() noexcept;
// Around compilations, which may wait. Throws what the native context throws, with nothing changed.
void begin_compilation();
void end_compilation() noexcept;
// The same for optctx's own compilations. Raises what entering raises.
void begin_counted();
// Tells what LLVM did not read in a scope that was left, if the scope wants that.
void judge(nanobind::handle scope, bool failed);

// Leaves what no block of this thread holds any more, as far as that is possible now. Done wherever optctx looks.
void leave_abandoned() noexcept;

// Shows what the task is inside of; called at switches of tasks.
void follow_task();

}  // namespace optctx::scoping

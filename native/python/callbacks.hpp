// The functions of Python's that native code calls back, all of them in one table, and the three ways to call them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>

namespace optctx::callbacks {

enum class Callback : std::uint8_t {
    // Entering and leaving contexts (optctx/context/callbacks.py), before anything has changed or after everything has.
    attach,         // (index of an image that was attached before)
    check_in_line,  // (context or None, "enter", "leave" or "compile") raises if another task is suspended here
    cannot_enter,   // (context or None, text) -> exception
    cannot_leave,   // (context, text) -> exception
    judge,          // (context, whether its block failed)
    // LLVM's work (optctx/travelling/bindings.py, attributes.py).
    may_run_outside,  // (image, whether work outside every scope is an error) -> bool
    may_run,          // (owner of a binding, owner of the scope or None, whether a mismatch is an error) -> bool
    resolve,  // (image, text of an attribute, owner of the scope or None, number of other texts of the module so far,
              // triple) -> context, False to ignore the text, or None to refuse it
    cannot_run_in,        // (owner of a context, why it could not be entered)
    cannot_make_machine,  // (image, why there is no TargetMachine for the values in force)
    leave_problem,        // (exception) that the enclosing call raises
    // LLVM's setters inside a context (optctx/context/callbacks.py).
    not_contained,   // (image, address of the option)
    ends_with_call,  // (image, address of the option, or 0 for a reset)
    contained,       // (image, address of the option, context)
    failed,          // (image, why)
    // Watchers (optctx/drifting/watch.py).
    option_given,  // (image, address of the option, value or None for a flag, whether LLVM refused it)
};

// Adds the binding that fills the table.
void add(nanobind::module_& m);

using Arguments = std::function<nanobind::tuple()>;

// Calls back with the GIL held, on behalf of Python code. Throws what the function raises.
nanobind::object ask(Callback which, const nanobind::tuple& arguments);
// Calls back from inside LLVM, on any thread. `take` receives the result, with the GIL held. What one of them
// raises is left for the enclosing call, because nothing can be raised here.
void ask_from_llvm(
    Callback which, const Arguments& arguments,
    const std::function<void(nanobind::object)>& take = [](const nanobind::object&) {});
// Calls back from anywhere, unless Python is ending. Reports what the function raises to sys.unraisablehook, and
// preserves an exception that is pending.
void tell(Callback which, const Arguments& arguments) noexcept;

}  // namespace optctx::callbacks

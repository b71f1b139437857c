// Entering and leaving contexts: a thread's scopes (view/scope.hpp) and its task's mark (task_scope.hpp), together.
#include "bindings.hpp"
#include "compile/keyed_locks.hpp"
#include "gil.hpp"
#include "native_calls.hpp"
#include "os/os.hpp"
#include "scoping.hpp"
#include "task_scope.hpp"
#include "view/per_thread.hpp"
#include "view/scope.hpp"
#include "view/turns.hpp"

#include <nanobind/typing.h>

#include <utility>

namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;

namespace {

template <class Wait>
void wait_without_gil(const Wait& wait) {
    const WithoutGil released;
    wait();
    if (!nb::is_alive() || native_calls::python_is_ending()) os::stop_this_thread();
}

}  // namespace

void add_scopes(nb::module_& m) {
    m.def("use_task_variable", &task_scope::use, "variable"_a,
          "The ContextVar in which tasks keep the mark of their innermost scope.");
    m.def(
        "set_scope_helpers",
        [](nb::object attach, nb::object check_in_line, nb::object cannot_enter, nb::object cannot_leave,
           nb::object judge) {
            scoping::set_helpers({std::move(attach), std::move(check_in_line), std::move(cannot_enter),
                                  std::move(cannot_leave), std::move(judge)});
        },
        "attach"_a, "check_in_line"_a, "cannot_enter"_a, "cannot_leave"_a, "judge"_a,
        "What entering and leaving call before they change anything, or when they are done: attach(), "
        "check_in_line(context, verb), cannot_enter(context, class, text) and cannot_leave(context, text), which "
        "return "
        "exceptions, judge(context, failed).");
    m.attr("R") = nb::type_var("R");
    m.def("inside", &blocks::inside,
          nb::sig("def inside(manager: contextlib.AbstractContextManager[object], "
                  "function: collections.abc.Callable[..., R], /, *arguments: object) -> R"),
          "`with manager: return function(*arguments)`, with no instruction of the interpreter between the two.");
    m.def("inside_if_free", &blocks::inside_if_free,
          nb::sig("def inside_if_free(lock: object, function: collections.abc.Callable[[], R], /) -> R | None"),
          "The same with a lock, or None, and nothing is called, if that is not free.");
    scoping::add_base(m);
    m.def(
        "in_line",
        [] {
            scoping::leave_abandoned();
            return view::in_line(task_scope::get().ptr());
        },
        "Whether LLVM sees on this thread what the running task is inside of.");
    m.def(
        "innermost",
        [] {
            const view::Entry entry = view::innermost();
            if (entry.mark == nullptr) return nb::object(nb::none());
            return nb::object(nb::make_tuple(nb::handle(static_cast<PyObject*>(entry.mark)),
                                             nb::handle(static_cast<PyObject*>(entry.token))));
        },
        "(mark, token) of the innermost scope entered on this thread, or None.");
    m.def("begin_library_call", &scoping::begin_library_call,
          "LLVM sees what the running task is inside of until `end_library_call`; never raises.");
    m.def("end_library_call", &scoping::end_library_call);
    m.def("begin_compilation", &scoping::begin_compilation,
          "The same, for calls without llvmlite's lock; waits while options are changed process-wide, and counts this "
          "thread among those inside LLVM.");
    m.def("end_compilation", &scoping::end_compilation);
    m.def(
        "watch_context_switches",
        [] {
            const bool reported = task_scope::watch(&scoping::follow_task);
            if (reported) view::follow_switches(true);
            return reported;
        },
        "From now on threads follow their tasks. False where the interpreter does not report switches (before 3.14).");
    m.def("simulate_context_switches", &view::follow_switches, "on"_a,
          "For tests: what is done after `watch_context_switches`, with `context_switched` called by hand.");
    m.def("context_switched", &scoping::follow_task);
    m.def(
        "take_turns", [] { wait_without_gil([] { view::hand_over(view::turns()); }); },
        "From now on threads share LLVM's own storage; before the first scope, and for good.");
    m.def("process_ends", &view::process_ends, "From now on threads that end stay inside their scopes.");
    m.def(
        "watch_forks",
        [] {
            view::watch_forks();
            compile::watch_forks();
        },
        "Keeps counts and locks right in children of fork.");
    m.def("active_scopes", [] {
        scoping::leave_abandoned();
        return view::active_scopes();
    });
}

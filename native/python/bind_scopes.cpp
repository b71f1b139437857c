// Entering and leaving contexts: a thread's scopes (scopes/scope.hpp) and its task's mark (python/task_variable.hpp),
// together.
#include "python/bindings.hpp"
#include "python/marks.hpp"
#include "python/scope_block.hpp"
#include "python/task_variable.hpp"
#include "scopes/scope.hpp"

#include <nanobind/typing.h>

void add_scopes(nb::module_& m) {
    m.def("use_task_variable", &task_scope::use, "variable"_a,
          "Set the ContextVar in which tasks keep the mark of their innermost scope.");
    m.def("leave_all", &scoping::leave_all, "Leave every scope and recording of this thread and its task.");
    m.attr("R") = nb::type_var("R");
    scoping::add_base(m);
    m.def(
        "in_line", [] { return scopes::shows(marks::of(task_scope::get())); },
        "Return whether LLVM sees the running task's scope on this thread.");
    m.def("task_owner", &scoping::task_owner, "image"_a.none() = nb::none(),
          "Return the OptionContext of the innermost scope that the running task is in, of one image or of any; None "
          "outside.");
    m.def("suspended", &scoping::suspended,
          "Return the OptionContext of the scope that this thread shows if another task, which is suspended, is inside "
          "it; otherwise None.");
    m.def(
        "library_calls",
        [](unsigned image) {
            views::checked_image(image);
            return std::pair(nb::cpp_function([image] { scoping::begin_library_call(image); }),
                             nb::cpp_function([] { scoping::end_call(); }));
        },
        "image"_a,
        nb::sig("def library_calls(image: int) -> tuple[collections.abc.Callable[[], None], "
                "collections.abc.Callable[[], None]]"),
        "Return the functions to call at the beginning and at the end of each call into the library with its lock "
        "held. In between, LLVM sees the running task's scope. They never raise.");
    m.def(
        "watch_context_switches",
        [] {
            const bool reported = task_scope::watch(&scoping::follow_task);
            if (reported) scopes::follow_switches(true);
            return reported;
        },
        "Make threads follow their tasks from now on. Returns False if the interpreter does not report switches "
        "(before 3.14).");
    m.def("process_ends", &scopes::process_ends, "Make threads that end stay inside their scopes from now on.");
    m.def(
        "active_scopes", [] { return sum_over_images(&scopes::active_scopes); },
        "Return the number of scopes entered now in this process, on all threads.");
}

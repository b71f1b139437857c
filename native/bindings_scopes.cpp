// Entering and leaving contexts: a thread's scopes (view/scope.hpp) and its task's mark (task_scope.hpp), together.
#include "bindings.hpp"
#include "gil.hpp"
#include "native_calls.hpp"
#include "os/os.hpp"
#include "task_scope.hpp"
#include "view/per_thread.hpp"
#include "view/poison.hpp"
#include "view/scope.hpp"
#include "view/turns.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <exception>
#include <optional>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;

namespace {

using SharedContext = std::shared_ptr<view::Context>;

// A mark is (the OptionContext, its native Context), a new tuple for each entry.
SharedContext context_of(nb::handle mark) {
    return nb::cast<SharedContext>(nb::handle(PyTuple_GetItem(mark.ptr(), 1)));
}

view::Entry entry_of(nb::handle mark) {
    return {mark.ptr(), mark.is_valid() ? PyTuple_GetItem(mark.ptr(), 0) : nullptr, nullptr};
}

void drop(void* reference) { Py_XDECREF(static_cast<PyObject*>(reference)); }

template <class Wait>
void wait_without_gil(const Wait& wait) {
    const WithoutGil released;
    wait();
    if (!nb::is_alive() || native_calls::python_is_ending()) os::stop_this_thread();
}

void let_in(view::Frame& frame) {
    if (!view::admit_at_once(frame)) wait_without_gil([&frame] { view::admit(frame); });
}

void enter(nb::handle native, nb::handle owner) {
    drop_orphans();
    view::Frame frame = view::frame_of(nb::cast<SharedContext>(native));
    nb::object mark = nb::steal(PyTuple_Pack(2, owner.ptr(), native.ptr()));
    if (!mark.is_valid()) throw nb::python_error();
    nb::object token = task_scope::set(mark);
    try {
        let_in(frame);
        view::enter(std::move(frame), {mark.ptr(), owner.ptr(), token.ptr()});
    } catch (...) {
        task_scope::reset(token);
        throw;
    }
    mark.release();
    token.release();
}

bool enter_in_line(nb::handle native, nb::handle owner) {
    if (!view::in_line(task_scope::get().ptr())) return false;
    enter(native, owner);
    return true;
}

// From here on LLVM sees what the task is inside of, if `may` says so of the frame that this takes.
template <class May>
void begin_call(const May& may) {
    nb::object mark = task_scope::get();
    if (view::begin_call(mark.ptr())) return;
    std::optional<view::Frame> frame = view::frame_here(mark.ptr());
    if (!frame) frame = view::frame_of(context_of(mark));
    if (!may(*frame)) return;
    view::enter_for_call(*std::move(frame), entry_of(mark));
    mark.release();
}

void end_call() { drop(view::end_call()); }

void end_library_call() {
    end_call();
    tell_call_ends();
}

void report(const char* problem) {
    PyErr_SetString(PyExc_RuntimeError, problem);
    PyErr_WriteUnraisable(nullptr);
}

// Once on each thread for each scope: every call that llvmlite makes comes here.
void report_not_in_force(view::Carried how, const void* mark) {
    thread_local std::optional<const void*> reported;
    if (std::exchange(reported, mark) == mark) return;
    if (how == view::Carried::without_process_wide)
        report(
            "optctx: LLVM is called in a copy of a scope with process_wide=\"exclusive\" whose options are not in "
            "force any more; use optctx.wrap, or enter the context where it is needed");
    else
        report(
            "optctx: LLVM is called under the option values of another thread or task: this call cannot wait for the "
            "turn of those that it was made under (a copied scope, or none); use optctx.wrap, or enter the context "
            "where it is needed");
}

// Around every call that llvmlite makes, with its lock held: nothing may be thrown, nobody may wait.
void begin_library_call() {
    view::give_up_unhandled_poison();
    try {
        begin_call([](view::Frame& frame) {
            const view::Carried how = view::carry(frame);
            if (how != view::Carried::fully) report_not_in_force(how, task_scope::get().ptr());
            return how != view::Carried::not_at_all;
        });
    } catch (const std::exception& error) {
        report(error.what());
    }
    tell_call_begins();
}

void begin_compilation() {
    view::give_up_unhandled_poison();
    try {
        begin_call([](view::Frame& frame) {
            let_in(frame);
            return true;
        });
        if (!view::begin_compilation_at_once()) wait_without_gil(&view::begin_compilation);
    } catch (...) {
        end_call();
        throw;
    }
}

void end_compilation() {
    view::end_compilation();
    end_call();
}

void follow_task() {
    try {
        const nb::object mark = task_scope::get();
        if (view::in_line(mark.ptr())) return;
        if (!mark.is_valid() || view::has_entered(mark.ptr())) {
            drop(view::show(entry_of(mark), nullptr));
        } else {
            void* before = view::show(entry_of(mark), context_of(mark));
            mark.inc_ref();
            drop(before);
        }
    } catch (const std::exception& error) {
        report(error.what());
    }
}

view::Entry to_leave(const view::Context& context) {
    return view::to_leave(context, view::follows_switches() ? task_scope::get().ptr() : nullptr);
}

void finish_leaving(view::Entry entry) {
    view::leave(entry.mark);
    drop(entry.token);
    drop(entry.mark);
    if (view::follows_switches()) follow_task();
}

nb::object leave_here(const view::Context& context) {
    const view::Entry entry = to_leave(context);
    const nb::handle mark = static_cast<PyObject*>(entry.mark);
    const nb::handle token = static_cast<PyObject*>(entry.token);
    if (!task_scope::reset(token)) return nb::make_tuple(mark, token);
    finish_leaving(entry);
    return nb::none();
}

void leave(const view::Context& context) { finish_leaving(to_leave(context)); }

}  // namespace

void add_scopes(nb::module_& m) {
    m.def("use_task_variable", &task_scope::use, "variable"_a,
          "The ContextVar in which tasks keep the mark of their innermost scope.");
    // Without names for the arguments calls are faster, and these two are in every `with`.
    m.def("enter", &enter_in_line, nb::sig("def enter(context: object, owner: object, /) -> bool"),
          "False, and nothing is done, if this thread is not in line with the running task.");
    m.def("leave", &leave_here, nb::sig("def leave(context: Context, /) -> object"),
          "None. Or (mark, token) of the scope, and nothing is done, if it was entered in another contextvars.Context "
          "than the one that is current.");
    m.def("enter_beside", &enter, "context"_a, "owner"_a, "As `enter`, in line or not.");
    m.def("leave_beside", &leave, "context"_a, "As `leave`; the Context in which it was entered was told already.");
    m.def(
        "leave_all",
        [] {
            view::leave_all();
            drop_orphans();
        },
        "Leaves whatever this thread is inside of, recordings included; the task has to be told.");
    m.def(
        "in_line", [] { return view::in_line(task_scope::get().ptr()); },
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
    m.def("begin_library_call", &begin_library_call,
          "LLVM sees what the running task is inside of until `end_library_call`; never raises.");
    m.def("end_library_call", &end_library_call);
    m.def("begin_compilation", &begin_compilation,
          "The same, for calls without llvmlite's lock; waits while options are changed process-wide, and counts this "
          "thread among those inside LLVM.");
    m.def("end_compilation", &end_compilation);
    m.def(
        "watch_context_switches",
        [] {
            const bool reported = task_scope::watch(&follow_task);
            if (reported) view::follow_switches(true);
            return reported;
        },
        "From now on threads follow their tasks. False where the interpreter does not report switches (before 3.14).");
    m.def("simulate_context_switches", &view::follow_switches, "on"_a,
          "For tests: what is done after `watch_context_switches`, with `context_switched` called by hand.");
    m.def("context_switched", &follow_task);
    m.def(
        "take_turns", [] { wait_without_gil([] { view::hand_over(view::turns()); }); },
        "From now on threads share LLVM's own storage; before the first scope, and for good.");
    m.def("process_ends", &view::process_ends, "From now on threads that end stay inside their scopes.");
    m.def("active_scopes", &view::active_scopes);
}

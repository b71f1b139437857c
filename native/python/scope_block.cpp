#include "python/scope_block.hpp"

#include "os/os.hpp"
#include "python/bindings.hpp"
#include "python/callbacks.hpp"
#include "python/gil.hpp"
#include "python/host_lock.hpp"
#include "python/no_collection.hpp"
#include "python/task_variable.hpp"
#include "scopes/orphans.hpp"
#include "scopes/recorder.hpp"
#include "views/per_image.hpp"
#include "views/poison.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace optctx::scoping {
namespace {

using callbacks::Callback;

// Calls back on behalf of Python code.
template <class... Arguments>
nb::object ask(Callback which, Arguments&&... arguments) {
    return callbacks::ask(which, nb::make_tuple(std::forward<Arguments>(arguments)...));
}

using SharedContext = std::shared_ptr<contexts::Context>;

// The native part of every OptionContext object.
struct Scope {
    PyObject_HEAD PyObject* native;  // null until `_give`
    contexts::Context* context;      // what `native` holds, and its image: entering need not ask for them
    unsigned image;
    bool judged;  // report overrides that LLVM did not read
};

Scope& parts_of(nb::handle self) { return *reinterpret_cast<Scope*>(self.ptr()); }

// A mark is the tuple (OptionContext, its native Context), new for each entry. A third item is the mark of the
// innermost scope around it that is of another image, if there is one.
SharedContext context_of(nb::handle mark) {
    return nb::cast<SharedContext>(nb::handle(PyTuple_GetItem(mark.ptr(), 1)));
}

unsigned image_of(nb::handle mark) { return parts_of(PyTuple_GetItem(mark.ptr(), 0)).image; }

PyObject* owner_of(nb::handle mark) { return mark.is_valid() ? PyTuple_GetItem(mark.ptr(), 0) : nullptr; }

nb::handle outer_of(nb::handle mark) { return PyTuple_Size(mark.ptr()) > 2 ? PyTuple_GetItem(mark.ptr(), 2) : nullptr; }

// Returns the mark for this image: the given one, or one around it. Null if there is none.
nb::handle mark_in(unsigned image, nb::handle mark) {
    while (mark.is_valid() && image_of(mark) != image) mark = outer_of(mark);
    return mark;
}

nb::object new_mark(nb::handle self, nb::handle native, unsigned image, nb::handle task) {
    const NoCollection alone;  // `task` is the scope that the mark is inside
    nb::handle outer = task;
    while (outer.is_valid() && image_of(outer) == image) outer = outer_of(outer);
    PyObject* mark = outer.is_valid() ? PyTuple_Pack(3, self.ptr(), native.ptr(), outer.ptr())
                                      : PyTuple_Pack(2, self.ptr(), native.ptr());
    if (mark == nullptr) throw nb::python_error();
    return nb::steal(mark);
}

// Returns what the task with this mark has in each image. Empty if only its own scope matters, and this thread has
// entered that.
std::vector<scopes::Values> values_of(nb::handle mark) {
    std::vector<scopes::Values> values;
    if (!mark.is_valid() || (!outer_of(mark).is_valid() && scopes::has_entered(mark.ptr()))) return values;
    std::uint32_t seen = 0;
    for (; mark.is_valid(); mark = outer_of(mark)) {
        const std::uint32_t image = 1U << image_of(mark);
        if ((seen & image) == 0) values.push_back({context_of(mark), owner_of(mark)});
        seen |= image;
    }
    return values;
}

void drop(void* reference) { Py_XDECREF(static_cast<PyObject*>(reference)); }

// Makes the task and the thread forget a scope in one step. Returns false, with nothing changed, if the scope was
// entered in another contextvars.Context that is still running further out on this thread.
bool forget(const scopes::ScopeEntry& entry) {
    const NoCollection alone;
    const nb::handle token = static_cast<PyObject*>(entry.token);
    if (!task_scope::reset(token) && !task_scope::reset_elsewhere(token, static_cast<PyObject*>(entry.mark)))
        return false;
    scopes::leave(entry.mark);
    return true;
}

// Leaves a scope that was entered on this thread. Throws, with nothing changed, if `forget` cannot.
void leave_entry(scopes::ScopeEntry entry) {
    if (!forget(entry))
        blocks::raise(ask(Callback::cannot_leave, nb::handle(static_cast<PyObject*>(entry.owner)),
                          "it was entered in a contextvars.Context that runs further out on this thread; "
                          "leave it there"));
    if (scopes::follows_switches()) follow_task();
    drop(entry.token);
    drop(entry.mark);
}

// Does the work of entering. Can fail until the task has its mark, and then changes nothing. Python code that runs
// before finds the task and the thread outside of the scope, and Python code that runs after finds both inside.
void enter_now(nb::handle self, nb::handle task, scopes::Ticket ticket) {
    const Scope& parts = parts_of(self);
    scopes::Frame frame = scopes::frame_of(parts.context->shared_from_this());
    nb::object mark = new_mark(self, parts.native, frame.image, task);
    scopes::make_room();
    scopes::activate(frame);
    const NoCollection alone;
    nb::object token;
    try {
        token = task_scope::set(mark, task);
    } catch (...) {
        scopes::dismiss(std::move(frame));
        throw;
    }
    scopes::enter(std::move(frame), {mark.release().ptr(), self.ptr(), token.release().ptr(), ticket});
}

// Does what shows a context to LLVM, and raises Python's error where its reads could not be seen.
template <class Work>
void or_refuse(nb::handle self, const Work& work) {
    try {
        work();
    } catch (const views::UnwatchedError& error) {
        blocks::raise(ask(Callback::cannot_enter, self, error.what()));
    }
}

nb::handle given_native(nb::handle self) {
    PyObject* native = parts_of(self).native;
    if (native != nullptr) return native;
    PyErr_SetString(PyExc_RuntimeError, "cannot use an OptionContext that __init__ did not make");
    throw nb::python_error();
}

nb::object enter(nb::handle self, scopes::Ticket ticket) {
    given_native(self);
    const unsigned image = parts_of(self).image;
    for (;;) {
        if (!views::is_attached(image)) attach(image);
        leave_abandoned();
        drop_orphans();
        nb::object task = task_scope::get();
        if (!scopes::in_line(task.ptr())) {
            ask(Callback::check_in_line, self, "enter");
            task = task_scope::get();
        }
        or_refuse(self, [&] { enter_now(self, task, ticket); });
        if (views::is_attached(image)) return nb::borrow(self);
        // Another thread detached before this one was counted: attach again.
        leave_entry(scopes::to_leave(*parts_of(self).context, task_scope::get().ptr()));
    }
}

void leave(nb::handle self, bool failed) {
    given_native(self);
    leave_abandoned();
    const nb::object task = scopes::follows_switches() ? task_scope::get() : nb::object();
    scopes::ScopeEntry entry;
    try {
        entry = scopes::to_leave(*parts_of(self).context, task.ptr());
    } catch (const contexts::ScopeError& error) {
        ask(Callback::check_in_line, self, "leave");
        blocks::raise(ask(Callback::cannot_leave, self, error.what()));
    }
    leave_entry(entry);
    leave_abandoned();
    judge(self, failed);
}

void abandon(nb::handle, scopes::Ticket ticket) noexcept {
    scopes::abandon_on_its_thread(ticket, [](scopes::Ticket own) noexcept {
        scopes::abandon(own);
        leave_abandoned();
    });
}

// From here on LLVM sees the scope of the task.
void begin_call(unsigned image) {
    leave_abandoned();
    nb::object mark = task_scope::get();
    if (scopes::begin_call(image, mark.ptr())) return;
    const nb::handle own = mark_in(image, mark);
    std::optional<scopes::Frame> frame = scopes::frame_here(image, mark.ptr());
    if (!frame) frame = own.is_valid() ? scopes::frame_of(context_of(own)) : scopes::frame_outside(image);
    scopes::activate(*frame);
    scopes::enter_for_call(*std::move(frame), {mark.ptr(), owner_of(own), nullptr});
    mark.release();
}

void end_call() {
    drop(scopes::end_call());
    leave_abandoned();
}

void report(const char* problem) {
    PyErr_SetString(PyExc_RuntimeError, problem);
    PyErr_WriteUnraisable(nullptr);
}

// The mark of the task for which this thread last reported that its scope is not in force. Null outside any scope.
struct Reported {
    bool any = false;
    PyObject* mark = nullptr;  // a reference, so that no later mark has this address

    ~Reported() {
        if (mark != nullptr) scopes::add_orphan(mark);
    }
};

// Reports once for each thread and scope, because every call that llvmlite makes comes here.
void report_not_in_force(const std::string& why, nb::object mark) {
    thread_local Reported reported;
    if (reported.any && reported.mark == mark.ptr()) return;
    reported.any = true;
    drop(std::exchange(reported.mark, mark.release().ptr()));
    report(("optctx: " + why).c_str());
}

// The native part of OptionContext.

PyObject* get_native(PyObject* self, void*) {
    return blocks::as_c_function([&] { return nb::borrow(given_native(self)); });
}

PyObject* give(PyObject* self, PyObject* arguments) {
    PyObject* native = nullptr;
    int judged = 0;
    if (PyArg_ParseTuple(arguments, "Op", &native, &judged) == 0) return nullptr;
    contexts::Context* context = nullptr;
    if (!nb::try_cast(nb::handle(native), context) || context == nullptr) {
        PyErr_SetString(PyExc_TypeError, "expected a native Context");
        return nullptr;
    }
    if (parts_of(self).native != nullptr) Py_RETURN_FALSE;
    parts_of(self).context = context;
    parts_of(self).image = context->space().image();
    parts_of(self).native = Py_NewRef(native);
    parts_of(self).judged = judged != 0;
    Py_RETURN_TRUE;
}

void free_scope(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    drop(parts_of(self).native);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

// Whether another scope was entered inside an abandoned one, in its contextvars.Context, and is not left yet. Resetting
// the ContextVar would hide that scope, and its own reset would bring the abandoned one back.
bool must_wait(const scopes::ScopeEntry& entry) {
    if (!scopes::follows_switches()) return false;  // only the innermost scope of the thread is offered
    const nb::object token = nb::borrow(static_cast<PyObject*>(entry.token));
    return !task_scope::is_innermost(token, static_cast<PyObject*>(entry.mark));
}

}  // namespace

const blocks::Kind scope{&enter, &leave, &abandon};

void leave_abandoned() noexcept {
    if (scopes::any_posted())
        for (const scopes::Ticket ticket : scopes::take_posted()) {
            scopes::abandon(ticket);
            scopes::Recorder::abandon(ticket);
            llvmlite_lock::abandon(ticket);
        }
    std::size_t passed = 0;  // scopes that wait for one inside them
    while (scopes::any_abandoned()) {
        scopes::leave_abandoned_of_thread();
        const scopes::ScopeEntry entry = scopes::next_abandoned(passed);
        if (entry.mark == nullptr) return;
        const nb::error_scope pending;
        try {
            const nb::object mark = nb::borrow(static_cast<PyObject*>(entry.mark));
            if (must_wait(entry)) {
                ++passed;
                continue;
            }
            if (scopes::has_entered(mark.ptr())) leave_entry(entry);  // no finaliser did
            passed = 0;
        } catch (nb::python_error&) {
            return;  // retried later
        }
    }
}

void begin_in_task(unsigned image) {
    leave_abandoned();
    const nb::object mark = task_scope::get();
    if (!scopes::in_line(mark.ptr())) ask(Callback::check_in_line, nb::none(), "compile");
    const nb::object self = mark.is_valid() ? nb::borrow(PyTuple_GetItem(mark.ptr(), 0)) : nb::none();
    or_refuse(self, [image] { begin_compilation(image); });
}

void judge(nb::handle self, bool failed) {
    if (parts_of(self).judged) ask(Callback::judge, self, failed);
}

void attach(unsigned image) { ask(Callback::attach, image); }

void add_base(nb::handle module) {
    static PyMethodDef methods[] = {
        {"_give", &give, METH_VARARGS,
         "Set the native context, and whether to report overrides that LLVM did not read. Return False, and change "
         "nothing, if it was set before."},
        {}};
    static PyGetSetDef properties[] = {{"_native", &get_native, nullptr, nullptr, nullptr}, {}};
    const nb::object type = blocks::make_type(
        module, "ScopeBase",
        {{Py_tp_dealloc, reinterpret_cast<void*>(&free_scope)}, {Py_tp_methods, methods}, {Py_tp_getset, properties}},
        sizeof(Scope));
    blocks::add_methods<scope>(type);
}

std::shared_ptr<contexts::Context> native_of(nb::handle self) { return nb::cast<SharedContext>(given_native(self)); }

nb::object mark_of(unsigned image, nb::handle self) {
    const nb::object task = task_scope::get();
    const nb::handle own = mark_in(image, task);
    return own.is_valid() && owner_of(own) == self.ptr() ? nb::borrow(own) : nb::object();
}

void leave_all() {
    const NoCollection alone;
    scopes::leave_all();
    task_scope::set(nb::none(), task_scope::get());
}

nb::object suspended() {
    const scopes::ScopeEntry entry = scopes::innermost();
    if (entry.mark == nullptr) return nb::none();
    const nb::object mark = nb::borrow(static_cast<PyObject*>(entry.mark));
    const nb::object token = nb::borrow(static_cast<PyObject*>(entry.token));
    return task_scope::is_running(token) ? nb::none() : mark;
}

void begin_library_call(unsigned image) noexcept {
    views::give_up_unhandled_poison();
    std::string why;
    try {
        begin_call(image);
    } catch (const std::exception& error) {
        why = std::string("LLVM is called outside the scope of its task: ") + error.what();
    }
    if (!why.empty()) report_not_in_force(why, task_scope::get());
}

void end_library_call() noexcept { end_call(); }

void begin_compilation(unsigned image) {
    views::give_up_unhandled_poison();
    try {
        begin_call(image);
    } catch (...) {
        end_call();
        throw;
    }
}

void end_compilation() noexcept { end_call(); }

void follow_task() {
    try {
        const nb::object mark = task_scope::get();
        if (scopes::in_line(mark.ptr())) return;
        const auto [before, taken] = scopes::show(mark.ptr(), values_of(mark));
        if (taken) mark.inc_ref();
        drop(before);
    } catch (const std::exception& error) {
        report(error.what());
    }
}

}  // namespace optctx::scoping

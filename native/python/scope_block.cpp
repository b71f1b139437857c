#include "python/scope_block.hpp"

#include "os/os.hpp"
#include "python/callbacks.hpp"
#include "python/gil.hpp"
#include "python/marks.hpp"
#include "python/no_collection.hpp"
#include "python/task_variable.hpp"
#include "scopes/orphans.hpp"
#include "views/per_image.hpp"
#include "views/poison.hpp"

#include <optional>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace optctx::scoping {
namespace {

using callbacks::Callback;

// Calls back on behalf of Python code.
template <class... Arguments>
nb::object ask(Callback which, Arguments&&... arguments) {
    return callbacks::ask(which, nb::make_tuple(std::forward<Arguments>(arguments)...));
}

// The native part of every OptionContext object.
struct Scope {
    PyObject_HEAD PyObject* native;  // null until `_give`
    contexts::Context* context;      // what `native` holds, and its image: entering need not ask for them
    unsigned image;
    bool judged;  // report overrides that LLVM did not read
};

Scope& parts_of(nb::handle self) { return *reinterpret_cast<Scope*>(self.ptr()); }

void drop(void* reference) { Py_XDECREF(static_cast<PyObject*>(reference)); }

// Leaves a scope that was entered on this thread: the task and the thread forget it in one step. Throws, with nothing
// changed, if the scope was entered in another contextvars.Context that is still running further out on this thread.
void leave_mark(scopes::Mark& mark) {
    const nb::object own = nb::borrow(marks::object_of(mark));
    {
        const NoCollection alone;
        const nb::object& token = marks::token_of(mark);
        if (!task_scope::reset(token) && !task_scope::reset_elsewhere(token, own))
            blocks::raise(ask(Callback::cannot_leave, marks::owner_of(mark),
                              "it was entered in a contextvars.Context that runs further out on this thread; "
                              "leave it there"));
        scopes::leave(mark);
        own.dec_ref();  // the thread's
    }
    if (scopes::follows_switches()) follow_task();
    const nb::object token = std::move(marks::token_of(mark));
}

// Does the work of entering. Can fail until the task has its mark, and then changes nothing. Python code that runs
// before finds the task and the thread outside of the scope, and Python code that runs after finds both inside.
void enter_now(nb::handle self, nb::handle task) {
    nb::object made = marks::make(self, *parts_of(self).context, marks::of(task));
    scopes::Mark& mark = *marks::of(made);
    scopes::make_room();
    mark.activation = contexts::acquire(mark.context);
    const NoCollection alone;
    marks::token_of(mark) = task_scope::set(made);
    scopes::enter(mark);
    made.release();  // the thread keeps it
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

nb::object enter(nb::handle self) {
    given_native(self);
    const unsigned image = parts_of(self).image;
    for (;;) {
        if (!views::is_attached(image)) attach(image);
        drop_orphans();
        nb::object task = task_scope::get();
        if (!scopes::shows(marks::of(task))) {
            ask(Callback::check_in_line, self, "enter");
            task = task_scope::get();
        }
        or_refuse(self, [&] { enter_now(self, task); });
        if (views::is_attached(image)) return nb::borrow(self);
        // Another thread detached before this one was counted: attach again.
        leave_mark(scopes::to_leave(*parts_of(self).context, marks::of(task_scope::get())));
    }
}

void leave_unjudged(nb::handle self, bool) {
    given_native(self);
    const nb::object task = scopes::follows_switches() ? task_scope::get() : nb::object();
    scopes::Mark* mark = nullptr;
    try {
        mark = &scopes::to_leave(*parts_of(self).context, marks::of(task));
    } catch (const contexts::ScopeError& error) {
        ask(Callback::check_in_line, self, "leave");
        blocks::raise(ask(Callback::cannot_leave, self, error.what()));
    }
    leave_mark(*mark);
}

void leave(nb::handle self, bool failed) {
    leave_unjudged(self, failed);
    judge(self, failed);
}

// From here on LLVM sees the scope of the task.
void begin_call(unsigned image) { scopes::begin_call(image, marks::of(task_scope::get())); }

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

constexpr blocks::Kind scope{&enter, &leave};

}  // namespace

const blocks::Kind unjudged{&enter, &leave_unjudged};

void begin_in_task(unsigned image) {
    const nb::object task = task_scope::get();
    const scopes::Mark* mark = marks::of(task);
    if (!scopes::shows(mark)) ask(Callback::check_in_line, nb::none(), "compile");
    const nb::object self = mark == nullptr ? nb::none() : nb::borrow(marks::owner_of(*mark));
    or_refuse(self, [image] {
        views::give_up_unhandled_poison();
        try {
            begin_call(image);
        } catch (...) {
            end_call();
            throw;
        }
    });
}

void judge(nb::handle self, bool failed) {
    if (parts_of(self).judged) ask(Callback::judge, self, failed);
}

void attach(unsigned image) { ask(Callback::attach, image); }

void add_base(nb::handle module) {
    static PyGetSetDef properties[] = {{"_native", &get_native, nullptr, nullptr, nullptr}, {}};
    blocks::add_type<scope>(
        module, "ScopeBase", {{Py_tp_dealloc, reinterpret_cast<void*>(&free_scope)}, {Py_tp_getset, properties}},
        sizeof(Scope),
        {"_give", &give, METH_VARARGS,
         "Set the native context, and whether to report overrides that LLVM did not read. Return False, and change "
         "nothing, if it was set before."});
    marks::prepare();
    scopes::retain_mark = [](scopes::Mark& mark) noexcept { marks::object_of(mark).inc_ref(); };
}

void drop_orphans() {
    for (void* orphan : scopes::take_orphans()) Py_DECREF(static_cast<PyObject*>(orphan));
}

nb::object task_owner(std::optional<unsigned> image) {
    const nb::object task = task_scope::get();
    const scopes::Mark* mark = image ? marks::in_image(*image, marks::of(task)) : marks::of(task);
    return mark == nullptr ? nb::none() : nb::borrow(marks::owner_of(*mark));
}

contexts::Activation* activation_of(unsigned image, nb::handle self) {
    const nb::object task = task_scope::get();
    const scopes::Mark* mark = marks::in_image(image, marks::of(task));
    if (mark == nullptr || mark->owner != self.ptr() || !mark->is_entered_here()) return nullptr;
    return mark->activation.get();
}

void leave_all() {
    {
        const NoCollection alone;
        scopes::leave_all();
        task_scope::set(nb::none());
    }
    drop_orphans();
}

nb::object suspended() {
    const scopes::Mark* mark = scopes::shown_here();
    if (mark == nullptr) return nb::none();
    const nb::object own = nb::borrow(marks::object_of(*mark));
    const nb::object token = nb::borrow(marks::token_of(*mark));
    return task_scope::is_running(token) ? nb::none() : nb::borrow(marks::owner_of(*mark));
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

void end_call() noexcept {
    if (!scopes::end_call()) return;
    if (scopes::follows_switches()) follow_task();
    drop_orphans();
}

void follow_task() {
    try {
        const nb::object task = task_scope::get();
        scopes::follow(marks::of(task));
        drop_orphans();
    } catch (const std::exception& error) {
        report(error.what());
    }
}

}  // namespace optctx::scoping

#include "python/task_variable.hpp"

#include "python/no_collection.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace nb = nanobind;

namespace optctx::task_scope {
namespace {

using Get = int (*)(PyObject*, PyObject*, PyObject**);
using Set = PyObject* (*)(PyObject*, PyObject*);
using Reset = int (*)(PyObject*, PyObject*);
// The enumeration has the size of int; 1 is Py_CONTEXT_SWITCHED.
using Callback = int (*)(int, PyObject*);
using AddWatcher = int (*)(Callback);
constexpr int switched = 1;

Get get_value;
Set set_value;
Reset reset_value;
PyObject* variable;
PyObject* probe;  // another variable
// CPython exposes the Context of a token, or the one that a Context was entered from, only to the garbage collector.
PyObject* get_referents;
PyObject* context_type;
PyObject* missing;
void (*handler)();

template <class Function>
Function find(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

template <class Function>
Function need(const char* name) {
    const auto found = find<Function>(name);
    if (found == nullptr) throw std::runtime_error(std::string("this Python has no ") + name);
    return found;
}

// The contextvars.Context that a token or another Context refers to. Null if there is none.
nb::object context_of(nb::handle object) {
    for (nb::handle each : nb::handle(get_referents)(object))
        if (PyObject_IsInstance(each.ptr(), context_type) == 1) return nb::borrow(each);
    return {};
}

nb::object current_context() {
    const nb::object token = nb::steal(set_value(probe, Py_None));
    if (!token.is_valid()) throw nb::python_error();
    nb::object context = context_of(token);
    if (reset_value(probe, token.ptr()) != 0) throw nb::python_error();
    return context;
}

int on_event(int event, PyObject*) {
    if (event != switched) return 0;
    const nb::error_scope pending;  // an exception may be pending, and must be preserved
    handler();
    return 0;
}

}  // namespace

void use(nb::object contextvar) {
    get_value = need<Get>("PyContextVar_Get");
    set_value = need<Set>("PyContextVar_Set");
    reset_value = need<Reset>("PyContextVar_Reset");
    // Never freed:
    variable = contextvar.release().ptr();
    get_referents = nb::object(nb::module_::import_("gc").attr("get_referents")).release().ptr();
    const nb::module_ contextvars = nb::module_::import_("contextvars");
    probe = nb::object(contextvars.attr("ContextVar")("optctx probe")).release().ptr();
    context_type = nb::object(contextvars.attr("Context")).release().ptr();
    missing = nb::object(contextvars.attr("Token").attr("MISSING")).release().ptr();
}

nb::object get() {
    PyObject* value = nullptr;
    if (variable != nullptr && get_value(variable, nullptr, &value) < 0) throw nb::python_error();
    nb::object found = nb::steal(value);
    return found.is_none() ? nb::object() : found;
}

nb::object set(nb::handle mark) {
    PyObject* token = set_value(variable, mark.ptr());
    if (token == nullptr) throw nb::python_error();
    return nb::steal(token);
}

bool reset(nb::handle token) {
    if (reset_value(variable, token.ptr()) == 0) return true;
    PyErr_Clear();
    return false;
}

bool is_running(nb::handle token) {
    const NoCollection alone;
    const nb::object context = context_of(token);
    for (nb::object running = current_context(); running.is_valid(); running = context_of(running))
        if (running.is(context)) return true;
    return false;
}

bool reset_elsewhere(nb::handle token, nb::handle mark) {
    try {
        const nb::object context = context_of(token);
        if (!context.is_valid()) return false;
        context.attr("run")(nb::handle(variable).attr("reset"), token);
        if (get().is(mark)) {
            const nb::object outer = token.attr("old_value");
            set(outer.is(nb::handle(missing)) ? nb::none() : outer);
        }
        return true;
    } catch (nb::python_error&) {
        return false;
    }
}

bool watch(void (*on_switch)()) {
    static bool watching = false;
    if (watching) return true;
    const auto add = find<AddWatcher>("PyContext_AddWatcher");
    handler = on_switch;
    if (add == nullptr) return false;
    watching = add(on_event) >= 0;
    if (!watching) PyErr_Clear();  // all watcher slots are in use
    return watching;
}

}  // namespace optctx::task_scope

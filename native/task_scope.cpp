#include "task_scope.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace nb = nanobind;

namespace optctx::task_scope {
namespace {

using Get = int (*)(PyObject*, PyObject*, PyObject**);
using Set = PyObject* (*)(PyObject*, PyObject*);
using Reset = int (*)(PyObject*, PyObject*);
// The enumeration has the size of an int; 1 is Py_CONTEXT_SWITCHED.
using Callback = int (*)(int, PyObject*);
using AddWatcher = int (*)(Callback);
constexpr int switched = 1;

Get get_value;
Set set_value;
Reset reset_value;
PyObject* variable;
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

int on_event(int event, PyObject*) {
    if (event != switched) return 0;
    const nb::error_scope pending;  // one may be set, and has to be there afterwards
    handler();
    return 0;
}

}  // namespace

void use(nb::object contextvar) {
    get_value = need<Get>("PyContextVar_Get");
    set_value = need<Set>("PyContextVar_Set");
    reset_value = need<Reset>("PyContextVar_Reset");
    variable = contextvar.release().ptr();  // for as long as the process lives
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

bool watch(void (*on_switch)()) {
    const auto add = find<AddWatcher>("PyContext_AddWatcher");
    handler = on_switch;
    if (add == nullptr) return false;
    if (add(on_event) >= 0) return true;
    PyErr_Clear();  // all watchers are taken
    return false;
}

}  // namespace optctx::task_scope

// Native context managers. An exception may arrive between two instructions of the interpreter, from a signal handler.
// So entering and leaving are one native step each, as those of threading.Lock are.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <new>
#include <utility>
#include <vector>

namespace optctx::blocks {

// What `with` does for one class. Both may throw nanobind::python_error.
struct Kind {
    nanobind::object (*enter)(nanobind::handle self);
    // `failed`: an exception ended the block.
    void (*leave)(nanobind::handle self, bool failed);
};

[[noreturn]] void raise(const nanobind::object& exception);

// Calls Python code, or code that releases the GIL. If the interpreter is ending, the thread blocks there forever, and
// no outer C++ frame is unwound without the GIL.
nanobind::object call(nanobind::handle function, nanobind::handle arguments);
template <class... Arguments>
nanobind::object call_method(nanobind::handle self, const char* name, Arguments&&... arguments) {
    return call(nanobind::object(self.attr(name)), nanobind::make_tuple(std::forward<Arguments>(arguments)...));
}

// Runs code that may throw, in a function of the C API. Returns null with an exception set if it throws.
template <class Work>
PyObject* as_c_function(Work&& work) noexcept {
    try {
        return work().release().ptr();
    } catch (nanobind::python_error& error) {
        error.restore();
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

// Adds a mutable base class to the module. `size` is the size of its objects in bytes, or 0 without storage of its own.
void add_type(nanobind::handle module, const char* name, std::vector<PyType_Slot> slots, int size);

// Adds one with `__enter__` and `__exit__`, and another method if there is one.
template <const Kind& kind>
void add_type(nanobind::handle module, const char* name, std::vector<PyType_Slot> slots = {}, int size = 0,
              const PyMethodDef& other = {}) {
    static constexpr PyCFunction enter = [](PyObject* self, PyObject*) {
        return as_c_function([&] { return kind.enter(self); });
    };
    // The arguments are (type, value, traceback) of the block's exception.
    static constexpr _PyCFunctionFast leave = [](PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
        return as_c_function([&] {
            kind.leave(self, count > 0 && arguments[0] != Py_None);
            return nanobind::none();
        });
    };
    static PyMethodDef methods[] = {
        {"__enter__", enter, METH_NOARGS, nullptr},
        {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave)), METH_FASTCALL, nullptr},
        other,
        {}};
    slots.push_back({Py_tp_methods, methods});
    add_type(module, name, std::move(slots), size);
}

}  // namespace optctx::blocks

// Native context managers. An exception may arrive at any instruction of the interpreter: from a signal handler,
// between the return of `__enter__` and the block. So entering and leaving are one native step each, and a `with`
// statement that is interrupted before it calls `__exit__` still leaves.
//
// `with` looks `__exit__` up first and keeps it until the block is left, even by an exception. Looked up on an object,
// `__exit__` is a Hold, made for that `with` statement. The `__enter__` that follows gives what it enters the ticket of
// the Hold. A Hold that is freed without being called abandons what has its ticket.
#pragma once

#include "scopes/tickets.hpp"

#include <nanobind/nanobind.h>

#include <exception>
#include <new>
#include <utility>
#include <vector>

namespace optctx::blocks {

// What `with` does for one class. `enter` and `leave` may throw nanobind::python_error.
struct Kind {
    // All of `__enter__`. The ticket is empty if no Hold waits for this call.
    nanobind::object (*enter)(nanobind::handle self, scopes::Ticket ticket);
    // All of `__exit__`. `failed`: an exception ended the block.
    void (*leave)(nanobind::handle self, bool failed);
    // For a block that was not left; runs on any thread. Must not run Python code.
    void (*abandon)(nanobind::handle self, scopes::Ticket ticket) noexcept;
};

// Makes the types that the functions below need. Call once.
void prepare();
// Returns the ticket for an `__enter__` of this object on this thread. No other call gets the same ticket.
scopes::Ticket take_ticket(nanobind::handle self) noexcept;
nanobind::object make_exit(const Kind& kind);

[[noreturn]] void raise(const nanobind::object& exception);

// Calls Python code, or code that releases the GIL. If the interpreter is ending, the thread blocks there forever, and
// no outer C++ frame is unwound without the GIL.
nanobind::object call(nanobind::handle function, nanobind::handle arguments, nanobind::handle keywords = {});
template <class... Arguments>
nanobind::object call_with(nanobind::handle function, Arguments&&... arguments) {
    return call(function, nanobind::make_tuple(std::forward<Arguments>(arguments)...));
}
template <class... Arguments>
nanobind::object call_method(nanobind::handle self, const char* name, Arguments&&... arguments) {
    return call_with(nanobind::object(self.attr(name)), std::forward<Arguments>(arguments)...);
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

// Sets `__enter__` and `__exit__` in a mutable class.
template <const Kind& kind>
void add_methods(nanobind::handle type) {
    static PyMethodDef enter{
        "__enter__",
        [](PyObject* self, PyObject*) { return as_c_function([&] { return kind.enter(self, take_ticket(self)); }); },
        METH_NOARGS, nullptr};
    PyObject* method = PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &enter);
    if (method == nullptr) throw nanobind::python_error();
    nanobind::setattr(type, "__enter__", nanobind::steal(method));
    nanobind::setattr(type, "__exit__", make_exit(kind));
}

// Adds a mutable base class to the module. `size` is the size of its objects in bytes, or 0 without storage of its own.
nanobind::object make_type(nanobind::handle module, const char* name, std::vector<PyType_Slot> slots, int size = 0);

// Runs `with manager: return function(*arguments, **keywords)` for any context manager whose exit suppresses no
// exception. If its `__enter__` and `__exit__` are native, no instruction of the interpreter runs between them and the
// call.
nanobind::object inside(nanobind::handle manager, nanobind::handle function, const nanobind::args& arguments,
                        const nanobind::kwargs& keywords);

}  // namespace optctx::blocks

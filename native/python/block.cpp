#include "python/block.hpp"

#include "python/gil.hpp"

#include <structmember.h>

#include <nanobind/stl/string.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace optctx::blocks {
namespace {

PyTypeObject* hold_type;
PyTypeObject* exit_type;

// The last Hold made on this thread, by its ticket, until the next `__enter__`.
struct Waiting {
    const void* self = nullptr;  // compared, never used
    scopes::Ticket ticket;
};
thread_local Waiting waiting;

struct Hold {
    PyObject_HEAD vectorcallfunc call;
    const Kind* kind;
    PyObject* self;
    scopes::Ticket ticket;
    bool left;
};

// `__exit__` as found in the class.
struct ExitMethod {
    PyObject_HEAD vectorcallfunc call;
    const Kind* kind;
};

bool fails(PyObject* const* arguments, Py_ssize_t count) {
    return count > 0 && arguments[0] != nullptr && arguments[0] != Py_None;
}

nb::object leave(const Kind& kind, nb::handle self, bool failed) {
    kind.leave(self, failed);
    return nb::none();
}

// The arguments are (type, value, traceback) of the block's exception.
PyObject* call_hold(PyObject* callable, PyObject* const* arguments, std::size_t flags, PyObject*) {
    auto* hold = reinterpret_cast<Hold*>(callable);
    if (waiting.ticket == hold->ticket) waiting = {};
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    PyObject* result = as_c_function([&] { return leave(*hold->kind, hold->self, fails(arguments, count)); });
    if (result != nullptr) hold->left = true;
    return result;
}

void free_hold(PyObject* object) {
    auto* hold = reinterpret_cast<Hold*>(object);
    PyTypeObject* type = Py_TYPE(object);
    if (waiting.ticket == hold->ticket) waiting = {};
    if (!hold->left) {
        const nb::error_scope pending;
        hold->kind->abandon(hold->self, hold->ticket);
    }
    Py_DECREF(hold->self);
    PyObject_Free(object);
    Py_DECREF(type);
}

// `__exit__` was looked up on an object.
PyObject* bind_exit(PyObject* method, PyObject* self, PyObject*) {
    if (self == nullptr || self == Py_None) return Py_NewRef(method);
    return as_c_function([&] {
        auto* hold = PyObject_New(Hold, hold_type);
        if (hold == nullptr) throw nb::python_error();
        hold->call = &call_hold;
        hold->kind = reinterpret_cast<ExitMethod*>(method)->kind;
        hold->self = Py_NewRef(self);
        hold->left = true;  // nothing to abandon if the next line throws
        nb::object made = nb::steal(reinterpret_cast<PyObject*>(hold));
        hold->ticket = scopes::new_ticket();
        hold->left = false;
        waiting = {self, hold->ticket};
        return made;
    });
}

// `__exit__` was looked up on the class, as contextlib.ExitStack does, and is called with the object: no Hold waits.
PyObject* call_exit(PyObject* method, PyObject* const* arguments, std::size_t flags, PyObject*) {
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "__exit__ needs an object");
        return nullptr;
    }
    const Kind& kind = *reinterpret_cast<ExitMethod*>(method)->kind;
    return as_c_function([&] { return leave(kind, arguments[0], fails(arguments + 1, count - 1)); });
}

void free_method(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_Free(object);
    Py_DECREF(type);
}

PyTypeObject* make_callable_type(const char* name, int size, destructor destroy, descrgetfunc bind,
                                 PyMemberDef* members) {
    PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                           {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                           {Py_tp_members, members},
                           {bind == nullptr ? 0 : Py_tp_descr_get, reinterpret_cast<void*>(bind)},
                           {0, nullptr}};
    PyType_Spec spec{
        name, size, 0,
        static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION),
        slots};
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) throw nb::python_error();
    return reinterpret_cast<PyTypeObject*>(type);  // never freed
}

}  // namespace

void prepare() {
    static PyMemberDef hold_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Hold, call), READONLY, nullptr},
                                         {}};
    static PyMemberDef exit_members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(ExitMethod, call), READONLY, nullptr}, {}};
    hold_type = make_callable_type("optctx._native.Hold", sizeof(Hold), &free_hold, nullptr, hold_members);
    exit_type =
        make_callable_type("optctx._native.ExitMethod", sizeof(ExitMethod), &free_method, &bind_exit, exit_members);
}

scopes::Ticket take_ticket(nb::handle self) noexcept {
    const Waiting last = std::exchange(waiting, {});
    return last.self == self.ptr() ? last.ticket : scopes::Ticket{};
}

void raise(const nb::object& exception) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    throw nb::python_error();
}

nb::object make_type(nb::handle module, const char* name, std::vector<PyType_Slot> slots, int size) {
    // Before Python 3.13 types keep a pointer to their name, so it is never freed.
    auto* qualified = new std::string(nb::cast<std::string>(module.attr("__name__")) + "." + name);
    slots.push_back({0, nullptr});
    PyType_Spec spec{qualified->c_str(), size, 0, static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE),
                     slots.data()};
    nb::object type = nb::steal(PyType_FromSpec(&spec));
    if (!type.is_valid()) throw nb::python_error();
    nb::setattr(module, name, type);
    return type;
}

nb::object call(nb::handle function, nb::handle arguments, nb::handle keywords) {
    PyObject* result = stay_at_exit([&] { return PyObject_Call(function.ptr(), arguments.ptr(), keywords.ptr()); });
    if (result == nullptr) throw nb::python_error();
    return nb::steal(result);
}

nb::object inside(nb::handle manager, nb::handle function, const nb::args& arguments, const nb::kwargs& keywords) {
    const nb::object exit = manager.attr("__exit__");
    call_method(manager, "__enter__");
    std::optional<nb::python_error> error;
    nb::object result;
    try {
        result = call(function, arguments, keywords);
    } catch (nb::python_error& raised) {
        error.emplace(std::move(raised));
    }
    if (!error) {
        call_with(exit, nb::none(), nb::none(), nb::none());
        return result;
    }
    try {
        const nb::object trace = error->traceback().is_valid() ? nb::borrow(error->traceback()) : nb::none();
        call_with(exit, error->type(), error->value(), trace);
    } catch (nb::python_error& second) {
        PyException_SetContext(second.value().ptr(), error->value().inc_ref().ptr());
        throw;
    }
    throw *std::move(error);
}

nb::object make_exit(const Kind& kind) {
    auto* method = PyObject_New(ExitMethod, exit_type);
    if (method == nullptr) throw nb::python_error();
    method->call = &call_exit;
    method->kind = &kind;
    return nb::steal(reinterpret_cast<PyObject*>(method));
}

}  // namespace optctx::blocks

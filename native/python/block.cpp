#include "python/block.hpp"

#include "python/gil.hpp"

#include <nanobind/stl/string.h>

#include <string>

namespace nb = nanobind;

namespace optctx::blocks {

void raise(const nb::object& exception) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    throw nb::python_error();
}

void add_type(nb::handle module, const char* name, std::vector<PyType_Slot> slots, int size) {
    // Before Python 3.13 types keep a pointer to their name, so it is never freed.
    auto* qualified = new std::string(nb::cast<std::string>(module.attr("__name__")) + "." + name);
    slots.push_back({0, nullptr});
    PyType_Spec spec{qualified->c_str(), size, 0, static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE),
                     slots.data()};
    nb::object type = nb::steal(PyType_FromSpec(&spec));
    if (!type.is_valid()) throw nb::python_error();
    nb::setattr(module, name, type);
}

nb::object call(nb::handle function, nb::handle arguments) {
    PyObject* result = stay_at_exit([&] { return PyObject_Call(function.ptr(), arguments.ptr(), nullptr); });
    if (result == nullptr) throw nb::python_error();
    return nb::steal(result);
}

}  // namespace optctx::blocks

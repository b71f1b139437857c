#include "python/marks.hpp"

#include <new>

namespace nb = nanobind;

namespace optctx::marks {
namespace {

// What the mark's `owner` and `outer` point to belongs to the object.
struct MarkObject {
    PyObject_HEAD nb::object token;
    scopes::Mark mark;
};

PyTypeObject* type;

MarkObject* as_mark(PyObject* object) { return reinterpret_cast<MarkObject*>(object); }

int traverse(PyObject* self, visitproc visit, void* arg) {
    const MarkObject& own = *as_mark(self);
    Py_VISIT(own.token.ptr());
    Py_VISIT(static_cast<PyObject*>(own.mark.owner));
    if (own.mark.outer != nullptr) Py_VISIT(static_cast<PyObject*>(own.mark.outer->object));
    Py_VISIT(Py_TYPE(self));
    return 0;
}

void free_mark(PyObject* self) {
    PyObject_GC_UnTrack(self);
    MarkObject* own = as_mark(self);
    const nb::object owner = nb::steal(static_cast<PyObject*>(own->mark.owner));
    const nb::object outer =
        own->mark.outer == nullptr ? nb::object() : nb::steal(static_cast<PyObject*>(own->mark.outer->object));
    own->token.~object();
    own->mark.~Mark();
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

}  // namespace

void prepare() {
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&free_mark)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                                  {0, nullptr}};
    static PyType_Spec spec{
        "optctx._native.Mark", sizeof(MarkObject), 0,
        static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION), slots};
    type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (type == nullptr) throw nb::python_error();
}

nb::object make(nb::handle owner, contexts::Context& context, const scopes::Mark* task) {
    scopes::Mark* outer = const_cast<scopes::Mark*>(task);
    while (outer != nullptr && outer->image() == context.space().image()) outer = outer->outer;
    MarkObject* made = PyObject_GC_New(MarkObject, type);
    if (made == nullptr) throw nb::python_error();
    new (&made->token) nb::object;
    if (outer != nullptr) object_of(*outer).inc_ref();
    new (&made->mark) scopes::Mark{made, owner.inc_ref().ptr(), outer, context};
    PyObject_GC_Track(made);
    return nb::steal(reinterpret_cast<PyObject*>(made));
}

scopes::Mark* of(nb::handle object) noexcept { return object.is_valid() ? &as_mark(object.ptr())->mark : nullptr; }

scopes::Mark* in_image(unsigned image, scopes::Mark* mark) noexcept {
    while (mark != nullptr && mark->image() != image) mark = mark->outer;
    return mark;
}

nb::object& token_of(const scopes::Mark& mark) noexcept { return as_mark(static_cast<PyObject*>(mark.object))->token; }

}  // namespace optctx::marks

// Python's bytes as spans, vectors and rows, and back; LLVM's texts, names of files and messages for Python.
#pragma once

#include "image/memory.hpp"
#include "values/read_values.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

inline std::span<const std::uint8_t> bytes_of(const nanobind::bytes& bytes) {
    return {static_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

template <class Bytes>
nanobind::bytes to_bytes(const Bytes& bytes) {
    return nanobind::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size() * sizeof bytes[0]);
}

// Bytes that are not UTF-8 become surrogates, as in the names of files that Python's `os` gives.
template <>
struct nanobind::detail::type_caster<optctx::values::Text> {
    NB_TYPE_CASTER(optctx::values::Text, const_name("str"))

    static bool from_python(handle, std::uint8_t, cleanup_list*) noexcept { return false; }

    static handle from_cpp(const optctx::values::Text& text, rv_policy, cleanup_list*) noexcept {
        const auto size = static_cast<Py_ssize_t>(text.bytes.size());
        return PyUnicode_DecodeUTF8(text.bytes.data(), size, "surrogateescape");
    }
};

// The path of a file, any bytes, as `os.fsdecode` gives it.
inline nanobind::str path_of(std::string_view path) {
    PyObject* text = PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size()));
    if (text == nullptr) throw nanobind::python_error();
    return nanobind::steal<nanobind::str>(text);
}

// Raises an error of C++ in Python, as one of this type. The message may name a file, so it is any bytes.
template <class Error>
void raise_in_python(const std::exception_ptr& thrown, void* type) {
    try {
        std::rethrow_exception(thrown);
    } catch (const Error& error) {
        const auto size = static_cast<Py_ssize_t>(std::strlen(error.what()));
        const auto message = nanobind::steal(PyUnicode_DecodeUTF8(error.what(), size, "surrogateescape"));
        if (message.is_valid()) PyErr_SetObject(static_cast<PyObject*>(type), message.ptr());
    }
}

// Adds a type of such errors to the module.
template <class Error>
void add_error(nanobind::module_& m, const char* name, PyObject* base) {
    const nanobind::exception<Error> type(m, name, base);
    nanobind::register_exception_translator(raise_in_python<Error>, type.ptr());
}

// A copy, because bytes need not be aligned.
template <class T>
std::vector<T> unpacked(const nanobind::bytes& bytes) {
    if (bytes.size() % sizeof(T) != 0)
        throw optctx::image::Misfit("expected whole elements, found some that are cut off");
    std::vector<T> elements(bytes.size() / sizeof(T));
    if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
}

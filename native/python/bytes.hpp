// Python's bytes as spans, vectors and rows, and back; LLVM's texts and names of files for Python.
#pragma once

#include "image/memory.hpp"
#include "values/read_values.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

inline std::vector<std::uint8_t> from_bytes(const nanobind::bytes& bytes) {
    const auto* data = static_cast<const std::uint8_t*>(bytes.data());
    return {data, data + bytes.size()};
}

inline std::span<const std::uint8_t> bytes_of(const nanobind::bytes& bytes) {
    return {static_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

template <class Bytes>
nanobind::bytes to_bytes(const Bytes& bytes) {
    return nanobind::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size() * sizeof bytes[0]);
}

// The name of a file as Python's `os` gives it.
inline nanobind::str to_path(const char* name) {
    PyObject* const text = PyUnicode_DecodeFSDefault(name);
    if (text == nullptr) throw nanobind::python_error();
    return nanobind::steal<nanobind::str>(text);
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

// A copy, because bytes need not be aligned.
template <class T>
std::vector<T> unpacked(const nanobind::bytes& bytes) {
    if (bytes.size() % sizeof(T) != 0)
        throw optctx::image::Misfit("expected whole elements, found some that are cut off");
    std::vector<T> elements(bytes.size() / sizeof(T));
    if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
}

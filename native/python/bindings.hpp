// What the parts of the Python module begin with. Part NAME is python/bind_NAME.cpp, which says what it binds.
#pragma once

#include "values/space.hpp"
#include "views/view.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>

// Only the parts include this file. They have no namespace of their own.
namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;

void add_image(nb::module_& m);
void add_sites(nb::module_& m);
void add_values(nb::module_& m);
void add_scopes(nb::module_& m);
void add_interceptions(nb::module_& m);
void add_runs(nb::module_& m);
void add_interface(nb::module_& m);
void add_reads(nb::module_& m);
void add_compile(nb::module_& m);
void add_setters(nb::module_& m);
void add_attach(nb::module_& m);
void add_drift(nb::module_& m);
void add_insight(nb::module_& m);  // tests/native/lab, where it is built

// What Python knows as a Setting.
struct SharedSetting {
    std::shared_ptr<const values::Setting> patches;
};
// Borrows an object that native code keeps for Python; None for null.
inline nb::object object_or_none(void* object) {
    return object == nullptr ? nb::none() : nb::borrow(static_cast<PyObject*>(object));
}
// Wraps a function of an image for Python. The result checks the image's index, which is its first argument.
template <class Result, class... Arguments>
auto of_image(Result (*function)(unsigned image, Arguments...)) {
    return [function](unsigned image, Arguments... arguments) -> Result {
        return function(views::checked_image(image), std::forward<Arguments>(arguments)...);
    };
}
// Adds up a count that each image has, for the whole process.
inline std::size_t sum_over_images(std::size_t (*count)(unsigned image) noexcept) {
    std::size_t sum = 0;
    for (unsigned image = 0; image < views::max_images; ++image) sum += count(image);
    return sum;
}

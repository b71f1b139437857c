// The parts of the Python module.
#pragma once

#include "values/space.hpp"
#include "views/view.hpp"

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <utility>

// Libraries, their symbols and memory, and the registry (python/bind_image.cpp).
void add_image(nanobind::module_& m);
// Finding instructions, what runs instead of them, and redirecting them (python/bind_sites.cpp).
void add_sites(nanobind::module_& m);
// Regions of LLVM's storage, and the sets of values for them (python/bind_values.cpp).
void add_space(nanobind::module_& m);
// Entering and leaving contexts, and keeping threads in line with their tasks (python/bind_scopes.cpp).
void add_scopes(nanobind::module_& m);
// Audits, and what tests and evidence ask (tests/native/lab/bind_insight.cpp, where it is built).
void add_insight(nanobind::module_& m);
// The functions of LLVM that optctx stands in front of (python/bind_interceptions.cpp).
void add_interceptions(nanobind::module_& m);
// Bindings of LLVMContexts, and function attributes (python/bind_runs.cpp).
void add_bind(nanobind::module_& m);
// TargetMachines that match option values (python/bind_machines.cpp).
void add_machines(nanobind::module_& m);
// Drops the references that have no owner any more. Call with the GIL.
void drop_orphans();
// The table of options for lookups from C++ (python/bind_interface.cpp).
void add_interface(nanobind::module_& m);
// Recording which options LLVM reads (python/bind_reads.cpp).
void add_record(nanobind::module_& m);
// Compiling without llvmlite's lock (python/bind_compile.cpp).
void add_compile(nanobind::module_& m);
// What LLVM's own setters do inside contexts (python/bind_setters.cpp).
void add_contain(nanobind::module_& m);
// Attaching and detaching (python/bind_attach.cpp).
void add_attach(nanobind::module_& m);
// Detecting changes of LLVM's own options (python/bind_drift.cpp).
void add_drift(nanobind::module_& m);
// What Python knows as a Setting.
struct SharedSetting {
    std::shared_ptr<const optctx::values::Setting> patches;
};
// Wraps a function of an image for Python. The result checks the image's index, which is its first argument.
template <class Result, class... Arguments>
auto of_image(Result (*function)(unsigned image, Arguments...)) {
    return [function](unsigned image, Arguments... arguments) -> Result {
        return function(optctx::views::checked_image(image), std::forward<Arguments>(arguments)...);
    };
}
// Adds up a count that each image has, for the whole process.
inline std::size_t sum_over_images(std::size_t (*count)(unsigned image) noexcept) {
    std::size_t sum = 0;
    for (unsigned image = 0; image < optctx::views::max_images; ++image) sum += count(image);
    return sum;
}

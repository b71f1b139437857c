// The parts of the Python module.
#pragma once

#include "view/slots.hpp"

#include <nanobind/nanobind.h>

#include <cstddef>

// Libraries, their symbols and memory, and the registry (bindings_image.cpp).
void add_image(nanobind::module_& m);
// Finding instructions, what runs instead of them, and redirecting them (bindings_sites.cpp).
void add_sites(nanobind::module_& m);
// Regions of LLVM's storage, and the sets of values for them (bindings_space.cpp).
void add_space(nanobind::module_& m);
// Entering and leaving contexts, and keeping threads in line with their tasks (bindings_scopes.cpp).
void add_scopes(nanobind::module_& m);
// Audits: accesses to LLVM's own options that were not redirected (bindings_audit.cpp).
void add_audit(nanobind::module_& m);
// Bindings of LLVMContexts, and function attributes (bindings_bind.cpp).
void add_bind(nanobind::module_& m);
// TargetMachines that match option values (bindings_machine.cpp).
void add_machines(nanobind::module_& m);
// Drops the references that have no owner any more. Call with the GIL.
void drop_orphans();
// The table of options for lookups from C++ (bindings_interface.cpp).
void add_interface(nanobind::module_& m);
// Recording which options LLVM reads (bindings_record.cpp).
void add_record(nanobind::module_& m);
// Compiling without llvmlite's lock (bindings_compile.cpp).
void add_compile(nanobind::module_& m);
// What LLVM's own setters do inside contexts (bindings_contain.cpp).
void add_contain(nanobind::module_& m);
// Attaching and detaching (bindings_attach.cpp).
void add_attach(nanobind::module_& m);
// Detecting changes of LLVM's own options (bindings_drift.cpp).
void add_drift(nanobind::module_& m);
// Adds up a count that each image has, for the whole process.
inline std::size_t sum_over_images(std::size_t (*count)(unsigned image) noexcept) {
    std::size_t sum = 0;
    for (unsigned image = 0; image < optctx::view::max_images; ++image) sum += count(image);
    return sum;
}
// Called at the beginning and the end of every call that llvmlite makes. They do nothing unless a watcher listens, and
// never throw.
void tell_call_begins() noexcept;
void tell_call_ends() noexcept;

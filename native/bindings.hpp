// The parts of the Python module.
#pragma once

#include <nanobind/nanobind.h>

// Entering and leaving contexts, and what keeps threads in line with tasks (bindings_scopes.cpp).
void add_scopes(nanobind::module_& m);
// Accesses to LLVM's own options that were not redirected (bindings_audit.cpp).
void add_audit(nanobind::module_& m);
// LLVMContexts, functions and the contexts of option values that belong to them (bindings_bind.cpp).
void add_bind(nanobind::module_& m);
// TargetMachines that belong to option values (bindings_machine.cpp).
void add_machines(nanobind::module_& m);
// Gives up what nobody holds any more; call with the GIL.
void drop_orphans();
// What Python says of each option so that lookups from C++ find it (bindings_interface.cpp).
void add_interface(nanobind::module_& m);
// Which options LLVM reads (bindings_record.cpp).
void add_record(nanobind::module_& m);
// Compiling without llvmlite's lock around it (bindings_compile.cpp).
void add_compile(nanobind::module_& m);
// Attaching and detaching (bindings_attach.cpp).
void add_attach(nanobind::module_& m);
// What tells when somebody changes LLVM's own options (bindings_drift.cpp).
void add_drift(nanobind::module_& m);
// Called at the beginning and the end of every call that llvmlite makes, while somebody listens. Never throw.
void tell_call_begins() noexcept;
void tell_call_ends() noexcept;

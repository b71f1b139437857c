// One compilation past llvmlite's calls: all that it holds, and all that it makes, belongs to one native call.
#pragma once

#include "compile/keyed_locks.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>

namespace optctx::compile {

// What a compilation needs for itself among those of optctx.
struct Need {
    std::uintptr_t llvm_context;
    std::uintptr_t target_machine;  // or 0
    // llvmlite's lock, where the LLVMContext is the global one, which every user of llvmlite works in; or None. It
    // comes last, because the garbage collector may take it at any moment to close a module.
    nanobind::object llvmlite_lock;
};

// This thread sees what its task is inside of until `end`, and no other thread changes options process-wide. Raises
// what entering raises, with nothing changed.
class Counted {
public:
    Counted();
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted();
};

// Runs `work` with everything that it needs, in the scope that travels with the LLVMContext, if one does. `work` may
// throw nanobind::python_error.
nanobind::object run(const Need& need, const std::function<nanobind::object()>& work);

}  // namespace optctx::compile

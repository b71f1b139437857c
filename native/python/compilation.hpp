// A compilation outside llvmlite's calls. One native call holds and makes everything that belongs to it.
#pragma once

#include "os/keyed_locks.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>

namespace optctx::compile {

// What a compilation needs exclusively, among compilations of optctx.
struct Need {
    unsigned image;
    std::uintptr_t llvm_context;
    std::uintptr_t target_machine;  // 0: none
    // llvmlite's lock if the LLVMContext is the global one, which every user of llvmlite shares; otherwise None. It is
    // taken last, because the garbage collector may take it at any moment to close a module.
    nanobind::object llvmlite_lock;
};

// While it lives, the image sees the scope of this thread's task, and no other thread changes options process-wide. The
// constructor raises what entering a context raises, with nothing changed.
class Counted {
public:
    explicit Counted(unsigned image);
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted();

private:
    unsigned image_;
};

// Runs `work` with exclusive use of what it needs, inside the context bound to the LLVMContext, if any. Returns None,
// with nothing done, if the rule for work outside every scope forbids it (intercept/outside.hpp). `work` may throw
// nanobind::python_error.
nanobind::object run(const Need& need, const std::function<nanobind::object()>& work);

}  // namespace optctx::compile

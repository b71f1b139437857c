// Keeps Python's garbage collector from running. Before Python 3.12 any allocation may run it, and with it finalisers
// and callbacks: Python code in the middle of a native step. Later versions run it between two instructions of the
// interpreter.
#pragma once

#include <Python.h>

#include <cstdlib>

namespace optctx {

// Holds for code that keeps the GIL and runs no Python code.
class NoCollection {
public:
    NoCollection() noexcept : enabled_(at_any_allocation && PyGC_Disable() == 1) {}
    NoCollection(const NoCollection&) = delete;
    NoCollection& operator=(const NoCollection&) = delete;
    ~NoCollection() {
        if (enabled_) PyGC_Enable();
    }

private:
    static inline const bool at_any_allocation = std::atoi(Py_GetVersion() + 2) < 12;  // the digits after "3."
    const bool enabled_;
};

}  // namespace optctx

// Takes the GIL where the interpreter may be ending. Before Python 3.14, pthread_exit ends a thread that then asks for
// the GIL, and if that unwinds a noexcept C++ function, the process terminates. Here such a thread blocks forever
// instead, as in Python 3.14.
#pragma once

#include "os/os.hpp"

#include <Python.h>
#include <cxxabi.h>

namespace optctx {

// Runs code that may take the GIL, or that runs Python code, which releases and retakes it.
template <class Work>
decltype(auto) stay_at_exit(Work&& work) {
    try {
        return work();
    } catch (abi::__forced_unwind&) {
        os::stop_this_thread();
    }
}

class WithGil {
public:
    WithGil() : state_(stay_at_exit([] { return PyGILState_Ensure(); })) {}
    WithGil(const WithGil&) = delete;
    WithGil& operator=(const WithGil&) = delete;
    ~WithGil() { PyGILState_Release(state_); }

private:
    PyGILState_STATE state_;
};

class WithoutGil {
public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;
    ~WithoutGil() {
        stay_at_exit([this] { PyEval_RestoreThread(state_); });
    }

private:
    PyThreadState* state_;
};

}  // namespace optctx

// Taking the GIL where the interpreter may be ending. Before Python 3.14 a thread that asks for it then is ended by
// pthread_exit, and C++ functions that must not be left that way end the process. Here such a thread stays where it is,
// for good, as Python 3.14 has it.
#pragma once

#include "os/os.hpp"

#include <Python.h>
#include <cxxabi.h>

namespace optctx {

// Calls what may take the GIL, or run Python code, which gives it up and takes it again.
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

// Takes the GIL where the interpreter may be ending, and lets go of it. Before Python 3.14, pthread_exit ends a thread
// that then asks for the GIL, and if that unwinds a noexcept C++ function, the process terminates. Here such a thread
// blocks forever instead, as in Python 3.14.
#pragma once

#include "os/os.hpp"

#include <Python.h>
#include <cxxabi.h>

#include <functional>

namespace optctx {

// Whether Python code can run, once this thread has the GIL. Does not need the GIL.
bool python_lives() noexcept;

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

// Returns what the work does without the GIL.
template <class Work>
auto without_gil(const Work& work) {
    const WithoutGil released;
    return work();
}

// Waits for other threads, which may need the GIL. If Python ends meanwhile, this thread blocks forever.
void wait_without_gil(const std::function<void()>& wait);
// The same on a thread that may or may not hold the GIL.
void wait_without_any_gil(const std::function<void()>& wait);

// Runs Python's signal handlers; throws what they raise.
void run_signal_handlers();

}  // namespace optctx

#include "python/gil.hpp"

#include <dlfcn.h>
#include <nanobind/nanobind.h>

namespace optctx {
namespace {

// A function of Python's that is not in its stable ABI, and was private once. Null if there is none.
template <class Function>
Function find(const char* name, const char* private_name) {
    void* function = dlsym(RTLD_DEFAULT, name);
    if (function == nullptr) function = dlsym(RTLD_DEFAULT, private_name);
    return reinterpret_cast<Function>(function);
}

// Both are public since Python 3.13. Looked up when the module loads: if another thread were in a first call during a
// fork, the child would wait for it forever.
const auto is_finalizing = find<int (*)()>("Py_IsFinalizing", "_Py_IsFinalizing");
const auto current_state = find<PyThreadState* (*)()>("PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet");

// As PyGILState_Check, which the stable ABI lacks, and which says yes on every thread once there was a subinterpreter.
// Before Python 3.12 the current state is that of the thread that holds the GIL, whichever asks. False where Python
// does not tell.
bool has_gil() noexcept {
    const PyThreadState* current = current_state == nullptr ? nullptr : current_state();
    return current != nullptr && current == PyGILState_GetThisThreadState();
}

}  // namespace

bool python_lives() noexcept {
    const bool is_ending = is_finalizing != nullptr && is_finalizing() != 0;  // no other thread can take the GIL
    return nanobind::is_alive() && !is_ending;
}

void wait_without_gil(const std::function<void()>& wait) {
    const WithoutGil released;
    wait();
    if (!python_lives()) os::stop_this_thread();
}

void wait_without_any_gil(const std::function<void()>& wait) {
    if (python_lives() && has_gil())
        wait_without_gil(wait);
    else
        wait();
}

void run_signal_handlers() {
    if (stay_at_exit([] { return PyErr_CheckSignals(); }) != 0) throw nanobind::python_error();
}

}  // namespace optctx

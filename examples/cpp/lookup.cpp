// LLVM's options from C++ code of one's own, here a shared library that Python loads: what a pass, a cost model or a
// cache key in such a library would ask. README.md says how it is built.
#include <cstddef>
#include <cstdio>
#include <exception>
#include <optctx/optctx.hpp>
#include <string>

namespace {

// Calls `look_up` and returns 0, or writes why it failed and returns its status (optctx/interface.h). The callers are C
// and Python, which know no exceptions: one that left a function with their linkage would end the process.
template <class LookUp>
int status_of(char* text, std::size_t size, LookUp look_up) noexcept {
    try {
        look_up();
        return 0;
    } catch (const optctx::Error& error) {
        std::snprintf(text, size, "%s", error.what());
        return error.status;
    } catch (const std::exception& error) {
        std::snprintf(text, size, "%s", error.what());
        return OPTCTX_FAILED;
    }
}

}  // namespace

// Finds out how often a loop that runs `trips` times is going to be unrolled on this thread, as far as options decide
// it. Returns a status as `status_of` does.
extern "C" int planned_unrolling(unsigned trips, unsigned* planned, char* text, std::size_t size) noexcept {
    return status_of(text, size, [&] {
        const auto count = optctx::get<unsigned>("unroll-count");
        *planned = count == 0 || count > trips ? 1 : count;
    });
}

// Writes the value of an unsigned option. Returns a status as `status_of` does.
extern "C" int look_up_unsigned(const char* name, char* text, std::size_t size) noexcept {
    return status_of(text, size, [&] { std::snprintf(text, size, "%u", optctx::get<unsigned>(name)); });
}

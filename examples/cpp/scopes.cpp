// Scopes from C++ code of one's own, here a shared library that Python loads: an autotuner that compiles under several
// values of an option. README.md says how it is built.
#include <cstddef>
#include <cstdio>
#include <exception>
#include <optctx/optctx.hpp>

// Calls `compile` once for each of the counts, with `unroll-count` set on this thread, and stores its results. Returns
// 0, or 1 after an error, with the message in `text`: the callers are C and Python, which know no exceptions.
extern "C" int try_counts(const unsigned* counts, std::size_t count, std::size_t (*compile)(), std::size_t* results,
                          char* text, std::size_t size) noexcept {
    try {
        // The values that the caller has set, and on top of them ours. Each scope ends with its block, also after an
        // exception.
        const optctx::Scope all{{"unroll-runtime", true}, {"unroll-threshold", 1000}};
        for (std::size_t i = 0; i < count; ++i) {
            const optctx::Scope one{{"unroll-count", counts[i]}};
            results[i] = compile();
        }
        return 0;
    } catch (const std::exception& error) {
        std::snprintf(text, size, "%s", error.what());
        return 1;
    }
}

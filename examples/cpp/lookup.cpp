// LLVM's options from C++ code of one's own, here a shared library that Python loads: what a pass, a cost model or a
// cache key in such a library would ask. README.md says how it is built.
#include <cstddef>
#include <cstdio>
#include <exception>
#include <optctx/option_context.hpp>
#include <string>

namespace {

// Resolved at the first use, so that the library can be loaded before optctx is used.
const optctx::Option<unsigned> unroll_count{"unroll-count"};

int say(char* text, std::size_t size, const char* message, int status) noexcept {
    std::snprintf(text, size, "%s", message);
    return status;
}

// Calls `look_up` and returns 0, or writes why it failed and returns 1 for an unknown name, 2 for an option of another
// type, 3 for anything else, such as an optctx that is not attached yet. The callers are C and Python, which know no
// exceptions: one that left a function with their linkage would end the process.
template <class LookUp>
int status_of(char* text, std::size_t size, LookUp look_up) noexcept {
    try {
        look_up();
        return 0;
    } catch (const optctx::UnknownOption& error) {
        return say(text, size, error.what(), 1);
    } catch (const optctx::TypeMismatch& error) {
        return say(text, size, error.what(), 2);
    } catch (const std::exception& error) {
        return say(text, size, error.what(), 3);
    } catch (...) {
        return say(text, size, "unknown error", 3);
    }
}

}  // namespace

// Finds out how often a loop that runs `trips` times is going to be unrolled on this thread, as far as options decide
// it. Returns a status as `status_of` does.
extern "C" int planned_unrolling(unsigned trips, unsigned* planned, char* text, std::size_t size) noexcept {
    return status_of(text, size, [&] {
        const unsigned count = unroll_count.get(optctx::current());
        *planned = count == 0 || count > trips ? 1 : count;
    });
}

// Writes the value of an unsigned option. Returns a status as `status_of` does.
extern "C" int look_up_unsigned(const char* name, char* text, std::size_t size) noexcept {
    return status_of(text, size, [&] {
        const optctx::OptionContext options = optctx::current();
        const std::string where = options.process_wide() ? " process-wide" : " in this scope";
        say(text, size, (std::to_string(options.get<unsigned>(name)) + where).c_str(), 0);
    });
}

// LLVM's options from C++ code of one's own, here a shared library that Python loads: what a pass, a cost model or a
// cache key in such a library would ask. README.md says how it is built.
#include <cstddef>
#include <cstdio>
#include <optctx/option_context.hpp>
#include <string>

namespace {

// Resolved at the first use, so that the library can be loaded before optctx is used.
const optctx::Option<unsigned> unroll_count{"unroll-count"};

void say(char* text, std::size_t size, const std::string& message) { std::snprintf(text, size, "%s", message.c_str()); }

}  // namespace

// How often a loop that runs `trips` times is going to be unrolled on this thread, as far as options decide it.
extern "C" unsigned planned_unrolling(unsigned trips) {
    const unsigned count = unroll_count.get(optctx::current());
    return count == 0 || count > trips ? 1 : count;
}

// Writes the value of an unsigned option, or why there is none; 0, or 1 for an unknown name, 2 for an option of
// another type, 3 for anything else.
extern "C" int look_up_unsigned(const char* name, char* text, std::size_t size) {
    try {
        const optctx::OptionContext options = optctx::current();
        const std::string where = options.process_wide() ? "process-wide" : "in this scope";
        say(text, size, std::to_string(options.get<unsigned>(name)) + " " + where);
        return 0;
    } catch (const optctx::UnknownOption& error) {
        say(text, size, error.what());
        return 1;
    } catch (const optctx::TypeMismatch& error) {
        say(text, size, error.what());
        return 2;
    } catch (const optctx::Error& error) {
        say(text, size, error.what());
        return 3;
    }
}

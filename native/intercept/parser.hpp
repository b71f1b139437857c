// Intercepts functions of LLVM's command line parser, whatever calls them: inside a context they work for that context.
#pragma once

#include <cstdint>
#include <functional>

namespace optctx::contain {

enum class Function : std::uint8_t {
    parse,  // cl::ParseCommandLineOptions: one thread at a time, because the parser has process-wide state
    reset,  // cl::ResetAllOptionOccurrences and cl::ResetCommandLineParser: the context's options have their registered
            // values; the registry stays, because all threads use it
};

// Call before `parse` is intercepted. `address`: where callers enter it.
void use_parser(unsigned image, std::uintptr_t address);
// How a thread waits until another one has parsed: by calling `wait`. The caller of the parser may hold what that
// thread needs, such as the GIL. Set before anything is intercepted.
inline void (*wait_for_parser)(const std::function<void()>& wait) = nullptr;

// Runs before an intercepted function (intercept/interception.hpp). Returns whether the work is done, and the function
// is not to run.
bool before(unsigned image, Function function, std::uint64_t* arguments, const std::uint64_t* stack);

}  // namespace optctx::contain

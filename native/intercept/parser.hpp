// Intercepts functions of LLVM's command line parser, whatever calls them: inside a context that contains, they work
// for that context.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace optctx::contain {

enum class Function : std::uint8_t {
    parse,         // cl::ParseCommandLineOptions: one thread at a time, because the parser has process-wide state
    reset_all,     // cl::ResetAllOptionOccurrences: the context's options have their registered values
    reset_parser,  // cl::ResetCommandLineParser: the same; the registry stays, because all threads use it
    registered,    // cl::getRegisteredOptions: a map of the context's own option objects
};

// An intercepted function of an image, packed into the number that its code passes.
struct Entry {
    std::uint8_t image;
    Function function;
};
constexpr std::uint32_t pack(Entry entry) {
    return std::uint32_t{entry.image} << 8 | static_cast<std::uint32_t>(entry.function);
}
constexpr Entry unpack(std::uint32_t packed) {
    return {static_cast<std::uint8_t>(packed >> 8), static_cast<Function>(packed & 0xFF)};
}

// Call before the function is intercepted. `address`: where callers enter it.
void intercept(Entry entry, std::uintptr_t address);
// Set how a thread waits until another one has parsed: by calling `wait`. The caller of the parser may hold what that
// thread needs, such as the GIL.
using Wait = void (*)(const std::function<void()>& wait);
void use_wait(Wait wait);
// Call before `registered` is intercepted. `layout`: as image::walk_registry names it.
void use_registry(unsigned image, const std::string& layout);

// The code in front of an intercepted function calls this. `arguments`: the six integer arguments, followed by the
// result if the function is not to run; `stack`: the return address and the further arguments. Returns whether the work
// is done, and the function is not to run.
inline constexpr unsigned result_index = 6;
extern "C" std::uint64_t optctx_before_parser(std::uint32_t entry, std::uint64_t* arguments,
                                              const std::uint64_t* stack);

}  // namespace optctx::contain

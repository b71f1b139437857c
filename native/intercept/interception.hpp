// LLVM's functions that optctx stands in front of, and how the code in front of each says which it is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace optctx::intercept {

enum class Handler : std::uint8_t {
    run,      // LLVM works on a module or a function (intercept/runs.hpp); `detail` is a bind::Subject
    machine,  // a TargetMachine is used (intercept/machines.hpp); `detail` is a machine::Use
    parser,   // options are parsed or reset (intercept/parser.hpp); `detail` is a contain::Function
};

// An intercepted function of an image, packed into the number that the code in front of it passes.
struct Interception {
    std::uint8_t image;
    Handler handler;
    std::uint8_t argument;  // index of what the handler is about among the integer arguments
    std::uint8_t detail : 4;
    std::uint8_t skip : 4;  // of a run: a bind::Skip
};

// The answer of a handler for a function that is not to run, and where its result is then: after the six integer
// arguments.
inline constexpr std::uint64_t skip_call = 0xFFFFFFFF;
inline constexpr std::size_t result_index = 6;

// The one door that the code in front of every intercepted function leads to.
//
// `packed`: an Interception. `arguments`: the six integer arguments, which may be changed, and room for the result.
// `stack`: the return address and the further arguments, of a function that is intercepted where it starts. Returns
// `skip_call` if the function is not to run, or else the number of steps that `optctx_after` must undo: none for a
// function after which nothing runs.
extern "C" std::uint64_t optctx_before(std::uint32_t packed, std::uint64_t* arguments,
                                       const std::uint64_t* stack) noexcept;
extern "C" void optctx_after(std::uint64_t steps) noexcept;

}  // namespace optctx::intercept

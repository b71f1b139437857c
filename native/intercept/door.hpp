// The one door that the code in front of every intercepted function leads to.
#pragma once

#include <cstdint>

namespace optctx::intercept {

// `packed`: an Interception. `arguments`: the six integer arguments, which may be changed, and room for the result.
// `stack`: the return address and the further arguments, of a function that is intercepted where it starts. Returns
// `skip_call` if the function is not to run, or else the number of steps that `optctx_after` must undo: none for a
// function after which nothing runs.
extern "C" std::uint64_t optctx_before(std::uint32_t packed, std::uint64_t* arguments,
                                       const std::uint64_t* stack) noexcept;
extern "C" void optctx_after(std::uint64_t steps) noexcept;

}  // namespace optctx::intercept

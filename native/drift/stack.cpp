#include "drift/stack.hpp"

#include <unwind.h>

#include <cstddef>

namespace optctx::drift {
namespace {

constexpr std::size_t most_frames = 64;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* frames) {
    auto& found = *static_cast<std::vector<std::uintptr_t>*>(frames);
    const std::uintptr_t returns_to = _Unwind_GetIP(context);
    if (returns_to == 0) return _URC_END_OF_STACK;
    found.push_back(returns_to - 1);  // an address inside the call instruction
    return found.size() < most_frames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

std::vector<std::uintptr_t> native_stack() {
    std::vector<std::uintptr_t> found;
    _Unwind_Backtrace(add_frame, &found);
    return found;
}

}  // namespace optctx::drift

#include "drift/occurrences.hpp"

#include <unwind.h>

#include <cstddef>

namespace optctx::drift {
namespace {

using image::RawStringRef;
using AddOccurrence = bool (*)(void*, unsigned, RawStringRef, RawStringRef, bool);

AddOccurrence original;
Observer watching;

// Has LLVM's signature, so the tables can point at it directly and no machine code is needed.
bool add_occurrence(void* option, unsigned position, RawStringRef name, RawStringRef value, bool multi) {
    const auto address = reinterpret_cast<std::uintptr_t>(option);
    const bool watched = watching.begin(address);
    const bool refused = original(option, position, name, value, multi);
    if (watched) watching.end(address, value, refused);
    return refused;
}

constexpr std::size_t most_frames = 64;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* frames) {
    auto& found = *static_cast<std::vector<std::uintptr_t>*>(frames);
    const std::uintptr_t returns_to = _Unwind_GetIP(context);
    if (returns_to == 0) return _URC_END_OF_STACK;
    found.push_back(returns_to - 1);  // an address inside the call instruction
    return found.size() < most_frames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

void observe(std::uintptr_t add_occurrence_at, Observer observer) {
    original = reinterpret_cast<AddOccurrence>(add_occurrence_at);
    watching = observer;
}

std::uintptr_t watched_add_occurrence() { return reinterpret_cast<std::uintptr_t>(&add_occurrence); }

std::vector<std::uintptr_t> native_stack() {
    std::vector<std::uintptr_t> found;
    _Unwind_Backtrace(add_frame, &found);
    return found;
}

}  // namespace optctx::drift

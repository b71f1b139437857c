#include "drift/occurrences.hpp"

#include "view/slots.hpp"

#include <unwind.h>

#include <cstddef>
#include <utility>

namespace optctx::drift {
namespace {

using image::RawStringRef;
using AddOccurrence = bool (*)(void*, unsigned, RawStringRef, RawStringRef, bool);

struct Watched {
    AddOccurrence original;
    Observer observer;
};
view::PerImage<Watched> watched_images{};

// Has LLVM's signature, so the tables can point at it directly and no machine code is needed. LLVM passes nothing to it
// that tells its image, so each image has a function of its own.
template <unsigned image>
bool add_occurrence(void* option, unsigned position, RawStringRef name, RawStringRef value, bool multi) {
    const auto address = reinterpret_cast<std::uintptr_t>(option);
    const auto& [original, observer] = watched_images[image];
    const bool watched = observer.begin(image, address);
    const bool refused = original(option, position, name, value, multi);
    if (watched) observer.end(image, address, value, refused);
    return refused;
}

template <std::size_t... images>
constexpr view::PerImage<AddOccurrence> make_replacements(std::index_sequence<images...>) {
    return {&add_occurrence<images>...};
}
constexpr auto replacements = make_replacements(std::make_index_sequence<view::max_images>{});

constexpr std::size_t most_frames = 64;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* frames) {
    auto& found = *static_cast<std::vector<std::uintptr_t>*>(frames);
    const std::uintptr_t returns_to = _Unwind_GetIP(context);
    if (returns_to == 0) return _URC_END_OF_STACK;
    found.push_back(returns_to - 1);  // an address inside the call instruction
    return found.size() < most_frames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

void observe(unsigned image, std::uintptr_t add_occurrence_at, Observer observer) {
    watched_images[image] = {reinterpret_cast<AddOccurrence>(add_occurrence_at), observer};
}

std::uintptr_t watched_add_occurrence(unsigned image) { return reinterpret_cast<std::uintptr_t>(replacements[image]); }

std::vector<std::uintptr_t> native_stack() {
    std::vector<std::uintptr_t> found;
    _Unwind_Backtrace(add_frame, &found);
    return found;
}

}  // namespace optctx::drift

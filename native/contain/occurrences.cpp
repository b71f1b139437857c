#include "contain/occurrences.hpp"

#include "view/slots.hpp"

#include <cstddef>
#include <utility>

namespace optctx::contain {
namespace {

using image::RawStringRef;
using AddOccurrence = bool (*)(void*, unsigned, RawStringRef, RawStringRef, bool);

struct Replaced {
    AddOccurrence original;
    Observer observer;
};
view::PerImage<Replaced> replaced{};

// Has LLVM's signature, so the tables can point at it directly and no machine code is needed. LLVM passes nothing to it
// that tells its image, so each image has a function of its own.
template <unsigned image>
bool add_occurrence(void* option, unsigned position, RawStringRef name, RawStringRef value, bool multi) {
    const auto address = reinterpret_cast<std::uintptr_t>(option);
    const auto& [original, observer] = replaced[image];
    const bool observed = observer.begin(image, address);
    const Outcome outcome = give(image, address, name, value, multi);
    const bool refused =
        outcome == Outcome::process ? original(option, position, name, value, multi) : outcome == Outcome::refused;
    if (observed) observer.end(image, address, value, outcome, refused);
    return refused;
}

template <std::size_t... images>
constexpr view::PerImage<AddOccurrence> make_replacements(std::index_sequence<images...>) {
    return {&add_occurrence<images>...};
}
constexpr auto replacements = make_replacements(std::make_index_sequence<view::max_images>{});

}  // namespace

std::uintptr_t replace_add_occurrence(unsigned image, std::uintptr_t add_occurrence_at, Observer observer) {
    replaced[image] = {reinterpret_cast<AddOccurrence>(add_occurrence_at), observer};
    return reinterpret_cast<std::uintptr_t>(replacements[image]);
}

}  // namespace optctx::contain

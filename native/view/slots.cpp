#include "view/slots.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace optctx::view {
namespace {

void* identity[max_images][max_slots];

// initial-exec: a constant offset from fs, which is what the trampolines have built in.
__attribute__((tls_model("initial-exec"))) constinit thread_local View current[max_images] = {
    identity[0], identity[1], identity[2], identity[3], identity[4], identity[5], identity[6], identity[7]};
static_assert(max_images == 8, "one initialiser for each image");

}  // namespace

View identity_view(unsigned image) { return identity[image]; }
View current_view(unsigned image) noexcept { return current[image]; }
void set_current_view(unsigned image, View view) noexcept { current[image] = view; }

LiveView::LiveView() noexcept {
    std::copy(std::begin(current), std::end(current), previous_);
    for (unsigned image = 0; image < max_images; ++image) current[image] = identity[image];
}

LiveView::~LiveView() { std::copy(std::begin(previous_), std::end(previous_), current); }

std::int32_t thread_offset(unsigned image) {
    const auto* pointer = static_cast<const char*>(__builtin_thread_pointer());
    return static_cast<std::int32_t>(reinterpret_cast<const char*>(&current[image]) - pointer);
}

}  // namespace optctx::view

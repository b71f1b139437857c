#include "view/slots.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace optctx::view {
namespace {

void* identity[max_images][max_words];

// initial-exec: the trampolines have the constant offset from fs built in.
__attribute__((tls_model("initial-exec"))) constinit thread_local View current[max_images] = {
    identity[0], identity[1], identity[2], identity[3], identity[4], identity[5], identity[6], identity[7]};
static_assert(max_images == 8, "one initialiser for each image");

__attribute__((tls_model("initial-exec"))) constinit thread_local Substitute* substituting = nullptr;

}  // namespace

View identity_view(unsigned image) { return identity[image]; }
View view_read(unsigned image) noexcept { return current[image]; }

View current_view(unsigned image) noexcept {
    return substituting != nullptr && substituting->image_ == image ? substituting->shown_ : current[image];
}

void set_current_view(unsigned image, View view) noexcept {
    if (substituting != nullptr && substituting->image_ == image) {
        substituting->shown_ = view;
        view = substituting->instead_of(view);
    }
    current[image] = view;
}

Substitute* substitute() noexcept { return substituting; }

void set_substitute(Substitute* next) noexcept {
    if (substituting != nullptr) current[substituting->image_] = substituting->shown_;
    substituting = next;
    if (next != nullptr) set_current_view(next->image_, current[next->image_]);
}

LiveView::LiveView() noexcept : substitute_(std::exchange(substituting, nullptr)) {
    std::copy(std::begin(current), std::end(current), previous_);
    for (unsigned image = 0; image < max_images; ++image) current[image] = identity[image];
}

LiveView::~LiveView() {
    std::copy(std::begin(previous_), std::end(previous_), current);
    substituting = substitute_;
}

std::int32_t thread_offset(unsigned image) {
    const auto* pointer = static_cast<const char*>(__builtin_thread_pointer());
    return static_cast<std::int32_t>(reinterpret_cast<const char*>(&current[image]) - pointer);
}

}  // namespace optctx::view

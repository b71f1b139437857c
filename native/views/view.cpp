#include "views/view.hpp"

#include <utility>

namespace optctx::views {
namespace {

void* identity[max_images][max_words];

// initial-exec: the trampolines have the constant offset from fs built in.
__attribute__((tls_model("initial-exec"))) constinit thread_local PerImage<View> current = {
    identity[0], identity[1], identity[2], identity[3], identity[4], identity[5], identity[6], identity[7]};
static_assert(max_images == 8, "one initialiser for each image");

__attribute__((tls_model("initial-exec"))) constinit thread_local PerImage<Substitute*> substituting{};

__attribute__((tls_model("initial-exec"))) alignas(16) constinit thread_local Exposed exposed{};

// Not narrowed here: GCC 16 makes an instruction of it that no assembler takes.
std::ptrdiff_t from_thread_pointer(const void* variable) {
    return static_cast<const char*>(variable) - static_cast<const char*>(__builtin_thread_pointer());
}

}  // namespace

View identity_view(unsigned image) { return identity[image]; }
View view_read(unsigned image) noexcept { return current[image]; }

View current_view(unsigned image) noexcept {
    const Substitute* substitute = substituting[image];
    return substitute != nullptr ? substitute->shown_ : current[image];
}

bool shows_globals(unsigned image) noexcept { return current_view(image) == identity[image]; }

void set_current_view(unsigned image, View view) noexcept {
    if (Substitute* substitute = substituting[image]) {
        substitute->shown_ = view;
        view = substitute->instead_of(view);
    }
    current[image] = view;
}

Substitute* substitute(unsigned image) noexcept { return substituting[image]; }

void set_substitute(unsigned image, Substitute* next) noexcept {
    if (const Substitute* last = substituting[image]) current[image] = last->shown_;
    substituting[image] = next;
    if (next != nullptr) set_current_view(image, current[image]);
}

LiveView::LiveView() noexcept : previous_(current), substitutes_(std::exchange(substituting, {})) {
    for (unsigned image = 0; image < max_images; ++image) current[image] = identity[image];
}

LiveView::~LiveView() {
    current = previous_;
    substituting = substitutes_;
}

bool take_exposed(Exposed& taken) noexcept {
    std::uint8_t any = 0;
    for (const std::uint8_t each : exposed) any |= each;
    if (any == 0) return false;
    taken = std::exchange(exposed, {});
    return true;
}

std::ptrdiff_t view_offset(unsigned image) { return from_thread_pointer(&current[image]); }
std::ptrdiff_t exposed_offset() { return from_thread_pointer(&exposed); }

}  // namespace optctx::views

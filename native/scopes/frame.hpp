// The values that a thread makes LLVM see in one image.
#pragma once

#include "contexts/activation.hpp"
#include "views/view.hpp"

#include <memory>

namespace optctx::scopes {

// They count until the frame is left.
struct Frame {
    std::shared_ptr<contexts::Context> context;  // null: LLVM's own values
    unsigned image;
    views::View view = nullptr;  // if set before it is shown: what this thread already has, to be shown again
    contexts::Acquired activation{};
    views::View previous = nullptr;
};

// LLVM sees the frame's values on this thread from then on. Throws views::UnwatchedError, with nothing changed.
void activate(Frame& frame);
// `above` is the next frame of the image after this one that is still present, or null. If it is null, LLVM sees again
// what it saw before this frame.
void leave(Frame& frame, Frame* above) noexcept;
// Make LLVM see the frame's values, or LLVM's own if the frame is null.
void show(unsigned image, const Frame* frame) noexcept;

}  // namespace optctx::scopes

// Which engine an image has.
#pragma once

#include "view/engine.hpp"

namespace optctx::view {

// `per_thread()` until `hand_over` chooses another.
Engine& engine_of(unsigned image) noexcept;
// Switches an image to the engine `next` while no other thread is inside. May wait.
void hand_over(unsigned image, Engine& next);
// Whether threads take turns in at least one image.
bool any_takes_turns() noexcept;

}  // namespace optctx::view

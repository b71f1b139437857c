// Which engine an image has.
#pragma once

#include "engines/engine.hpp"

namespace optctx::engines {

// `per_thread()` until `hand_over` chooses another.
Engine& engine_of(unsigned image) noexcept;
// Switches an image to the engine `next` while no other thread is inside. May wait.
void hand_over(unsigned image, Engine& next);
// Whether threads take turns in at least one image.
bool any_takes_turns() noexcept;

}  // namespace optctx::engines

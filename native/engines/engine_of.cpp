#include "engines/engine_of.hpp"

#include "engines/gate.hpp"
#include "engines/per_thread.hpp"

#include <atomic>

namespace optctx::engines {
namespace {

views::PerImage<std::atomic<Engine*>> chosen{};
std::atomic<bool> any_in_turns{false};

}  // namespace

Engine& engine_of(unsigned image) noexcept {
    Engine* found = chosen[image].load(std::memory_order_acquire);
    return found != nullptr ? *found : per_thread();
}

void hand_over(unsigned image, Engine& next) {
    if (&engine_of(image) == &next) return;
    gate::close({image, "the exclusive engine"});
    if (next.spans_images()) any_in_turns = true;
    chosen[image].store(&next, std::memory_order_release);
    gate::changed(true);
    if (gate::last_out()) gate::open();
}

bool any_takes_turns() noexcept { return any_in_turns.load(); }

}  // namespace optctx::engines

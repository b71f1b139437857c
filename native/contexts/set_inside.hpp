// What was set inside the scopes of all threads, for code that carries a scope to another thread: it sees the values
// that the scope has there and then. In the child of a fork it goes on to see those of a thread that is not there: that
// thread's marks are never freed, so no other one gets their addresses.
#pragma once

#include "contexts/activation.hpp"

#include <memory>
#include <optional>

namespace optctx::contexts {

// See Activation::adopt.
struct SetInside {
    std::shared_ptr<Context> context;
    Given given;
};

// From here on, until `forget_set_inside`, the scope with this mark (scopes/scope.hpp) has these values. Its room has
// been made before: after the scope's thread has adopted them, nothing can fail.
void make_room_for_set_inside(const void* mark);
void keep_set_inside(const void* mark, SetInside values) noexcept;
void forget_set_inside(const void* mark) noexcept;
// Return nullopt if nothing was set inside the scope.
std::optional<SetInside> set_inside(const void* mark);

}  // namespace optctx::contexts

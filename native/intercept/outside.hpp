// The rule of each image for work outside every scope: whether LLVM may run there, and under which values.
#pragma once

#include "intercept/bound_contexts.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace optctx::bind {

enum class Outside : std::uint8_t {
    allow,     // LLVM reads the process-wide values; the initial rule
    warn,      // the same, and the judge reports it
    error,     // nothing runs, and the judge reports it
    defaults,  // LLVM reads the registered values
};

Outside outside_rule(unsigned image) noexcept;
// Changes the rule, on every thread. Returns the number of runs outside every scope that go on under another rule; if
// it is not 0, nothing was changed. `defaults`: the registered values, with their owner; needed for that rule alone,
// and kept for good unless it is of the same context as the last one.
std::size_t set_outside_rule(unsigned image, Outside rule, std::unique_ptr<const Binding> defaults);
// Allows such work again, whatever is going on.
void reset_outside_rule(unsigned image) noexcept;

// A run outside every scope begins; its rule does not change before it ends.
Outside begin_outside(unsigned image) noexcept;
void end_outside(unsigned image) noexcept;
// What such a run reads under Outside::defaults. Call it inside one.
const Binding& defaults_inside(unsigned image) noexcept;
// Repairs the count in the child of a fork.
void count_outside_again(unsigned image, std::size_t runs) noexcept;

// Returns what LLVM reads outside every scope, for lookups: the registered values, or null for the process-wide ones.
std::shared_ptr<const contexts::Context> context_outside(unsigned image);

}  // namespace optctx::bind

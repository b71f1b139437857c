// The values that a thread makes LLVM see in one image. Options that cannot be scoped are changed for all threads,
// under the gate.
#pragma once

#include "contexts/activation.hpp"
#include "views/view.hpp"

#include <memory>

namespace optctx::scopes {

// They count until the frame is left.
struct Frame {
    std::shared_ptr<contexts::Context> context;  // null: LLVM's own values
    unsigned image;
    views::View view = nullptr;  // if set before admission: what this thread already has, to be shown again
    contexts::Acquired activation{};
    views::View previous = nullptr;
    bool admitted = false;  // the gate counts it
};

enum class Carried { fully, without_process_wide };

// Show the frame's values to LLVM on this thread without counting the thread at the gate. Leave the frame like any
// other.
void activate(Frame& frame);
// Admit this thread: LLVM sees the frame's values from then on. `admit_at_once` never waits, and returns false if it
// would have to. `admit` waits; the caller must not hold anything that a thread inside may need, such as the GIL. Both
// throw GateError, values::ParseError or views::UnwatchedError, with nothing changed.
bool admit_at_once(Frame& frame);
void admit(Frame& frame);
// Like `admit`, for callers that must not wait: a thread that changes options process-wide may itself wait for what
// this thread holds. In that case the frame is shown but not admitted. Goes ahead of waiting threads.
Carried carry(Frame& frame);
// `above` is the next frame of the image admitted after this one that is still present, or null. If it is null, LLVM
// sees again what it saw before this frame.
void leave(Frame& frame, Frame* above) noexcept;
// Make LLVM see the frame's values, or LLVM's own if the frame is null.
void show(unsigned image, const Frame* frame) noexcept;
// Runs in the child of a fork, where only this thread survives.
void open_gate_after_fork() noexcept;

}  // namespace optctx::scopes

// The gate: separates threads inside LLVM from threads that change options process-wide. One gate serves all images of
// the process: with one for each, two threads that are inside one image each and close the gate of the other would wait
// for each other.
#pragma once

#include "values/process_wide.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <vector>

namespace optctx::scopes::gate {

// Called on a thread that waits, now and again, with the threads that have closed the gate (of pthread_self). What it
// throws ends the wait, with nothing changed.
using WhileWaiting = void (*)(const std::vector<unsigned long>& closers);
void while_waiting(WhileWaiting call) noexcept;
// Calls it, on a thread that waits elsewhere. Call without locks.
void call_while_waiting(const std::vector<unsigned long>& closers);
// How often.
constexpr std::chrono::milliseconds patience{50};

// Waiting would deadlock. what() names the changes that hold the gate.
struct GateError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Threads inside contexts or compilations keep the gate open. Any number of them may; a thread counts once, at any
// depth. A thread that changes options process-wide closes the gate: it waits until no other thread is inside. Threads
// with the same changes share the closed gate. Waiting is first come, first served: a thread that arrives after a
// waiting closer queues behind it. A thread that is already inside, or has closed the gate itself, never waits to
// enter.

// Enters if no wait is needed.
bool try_enter() noexcept;
// Enters, waiting as long as necessary. The caller must not hold anything that a thread inside may need, such as the
// GIL. Throws GateError if this thread waits already, and is in a function that `while_waiting` called.
void enter();
void leave() noexcept;

// Closes the gate if these changes are in force already, and no wait is needed: if this thread has closed it itself, if
// no thread waits or, with `ahead`, ahead of those that do.
bool try_share(const values::ChangeKey& changes, bool ahead);
// Closes the gate for `changes`, if `try_share` cannot. May wait, like `enter`. Returns true if the caller must make
// the changes and then call `changed`. Throws GateError, with nothing changed, if this thread has closed the gate
// already, or if it is inside while another thread, or code that it has interrupted itself, waits to close.
bool close(const values::ChangeKey& changes);
// Reports that the changes were made. With `false` the changes failed, and the gate opens again.
void changed(bool done);
// Returns true if the caller is the last sharer to leave. It must then undo the changes and call `open`.
bool last_out();
void open();

// The number of threads that keep the gate open, and whether a thread has closed it or waits to close it.
std::size_t threads_inside() noexcept;
bool is_closed() noexcept;

// Runs in the child of a fork, where only the calling thread survives: no other thread is inside or waits. Returns the
// image in which changes made by another thread are still in force, if any. The caller must then undo them and call
// `open`.
std::optional<unsigned> only_this_thread_lives();

}  // namespace optctx::scopes::gate

// Who may be inside LLVM while options are changed for the whole process.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace optctx::view::gate {

// Waiting could never end; what() says who holds the gate.
struct GateError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Threads inside contexts or compilations keep the gate open, as many as like; a thread counts once, however deep
// it is. A thread that changes options process-wide closes it: it waits until no other thread is inside, and
// threads with the same changes share. First come, first served: whoever arrives after a waiting closer
// waits behind it. A thread that is inside already, or has closed the gate itself, never waits to enter.

// Enters if that needs no waiting.
bool try_enter() noexcept;
// Enters, waiting as long as it takes; hold nothing that a thread inside may be waiting for, such as the GIL.
void enter();
void leave() noexcept;

// Closes the gate for `changes`, a text that is the same for the same changes; may wait, as `enter` may. True if the
// caller has to make the changes, and then to call `changed`. Throws GateError, with nothing changed, if this
// thread has closed it for other changes, or if it is inside while another one waits to close.
bool close(const std::string& changes);
// Closes the gate if these very changes are in force, whoever may be waiting; never waits for what a thread inside
// holds.
bool try_share(const std::string& changes) noexcept;
// The changes are made, or with false: could not be made, and the gate is open again.
void changed(bool done);
// True if the caller is the last one out: it has to undo the changes, and then to call `open`.
bool last_out();
void open();

// Threads that keep the gate open, and whether any has closed it or waits to.
std::size_t threads_inside() noexcept;
bool is_closed() noexcept;

// In the child of a fork, where only the calling thread lives on: nobody else is inside or waits. True if changes that
// another thread made are still in force: the caller has to undo them, and then to call `open`.
bool only_this_thread_lives();

}  // namespace optctx::view::gate

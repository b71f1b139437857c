// The scopes that each thread is inside, and how they follow the tasks that run on it.
#pragma once

#include "contexts/context.hpp"
#include "scopes/frame.hpp"
#include "scopes/mark.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace optctx::scopes {

// Makes a frame with the values of a context, which this thread can then show.
Frame frame_of(const std::shared_ptr<contexts::Context>& context);
// Makes a frame with LLVM's own values.
Frame frame_outside(unsigned image);
// Makes a frame with the values that a task with this mark has in the image: those of the innermost scope of that image
// that encloses the scope of the mark, or LLVM's own. Returns nullopt if one of these scopes was not entered on this
// thread.
std::optional<Frame> frame_here(unsigned image, Mark mark);
// True if LLVM sees, on this thread, the scope of the task with this mark.
bool in_line(Mark task) noexcept;
// Returns the innermost scope that this thread shows to LLVM. Empty outside any scope, and during a call on behalf of
// another task.
ScopeEntry innermost() noexcept;
// Return what LLVM sees on this thread, for whatever reason: the context and its owner, or null. The context is that of
// its owner, or one that took its place on this thread (contexts::Activation::adopt).
const contexts::Context* current_context(unsigned image) noexcept;
void* current_owner(unsigned image) noexcept;
// Returns the activation that LLVM reads through on this thread, or null outside every scope.
contexts::Activation* current_activation(unsigned image) noexcept;
// Whether this thread entered a scope with that activation. False if the activation is for a call alone.
bool entered_here(unsigned image) noexcept;
// Returns the activation of the scope with this mark, or null if this thread has not entered it.
contexts::Activation* activation_of(Mark mark) noexcept;
// Whether LLVM has written to option values in the current context since this thread entered it.
bool wrote(unsigned image) noexcept;

// Call before the frame of an `enter` is shown, which then cannot fail.
void make_room();
// Enters a scope whose frame is shown. Takes over the references in `entry`.
void enter(Frame&& frame, ScopeEntry entry) noexcept;
// Enters a scope of C++ code whose frame is shown. The scope belongs to this thread: tasks do not see it, and LLVM sees
// it as long as this thread shows what it shows now.
void enter_of_thread(Frame&& frame, Ticket ticket) noexcept;
enum class Left : std::uint8_t { left, ended, not_innermost, on_another_thread, not_inside };
// Leaves such a scope. Changes nothing unless it returns `left`. `ended`: the thread's scopes have ended already, as
// this thread is ending.
Left leave_of_thread(Ticket ticket) noexcept;
// Leaves it as soon as its own thread can. Takes the scope of any thread.
void abandon_of_thread(Ticket ticket) noexcept;
// Leaves the scopes of C++ code that were abandoned on this thread, as far as possible now.
void leave_abandoned_of_thread() noexcept;
// Returns the context that LLVM sees on this thread if a scope of C++ code shows it, or null.
std::shared_ptr<contexts::Context> context_of_thread(unsigned image);
// Whether LLVM sees, on this thread, values that end with a scope which no task has.
bool is_of_thread(unsigned image) noexcept;
// Whether a scope can be entered: not while the process ends, nor on a thread whose scopes have ended.
bool may_enter() noexcept;

// Takes back that a frame is shown.
void dismiss(Frame&& frame) noexcept;
// Returns the scope that leaving `context` would leave: the innermost one or, while switches are followed, the one with
// the mark of the running task, at any depth. Throws contexts::ScopeError if that scope is not of `context`.
ScopeEntry to_leave(const contexts::Context& context, Mark task);
// Leaves the scope; its references belong to the caller again.
void leave(Mark mark) noexcept;

// Leaves every scope and recording of this thread. They will not be left the usual way.
void leave_all() noexcept;
// The block of this thread that held the scope is gone without leaving it.
void abandon(Ticket ticket) noexcept;
bool any_abandoned() noexcept;
// Returns the abandoned scope after `passed` others, from the innermost on, or one with a null mark. Before Python 3.14
// only the innermost scope of the thread can be left, and is returned.
ScopeEntry next_abandoned(std::size_t passed) noexcept;

// During a call into an image, this thread shows the scope of the running task. Calls nest. `begin_call` returns true
// if that scope is shown already. Otherwise the caller admits a frame and calls `enter_for_call`, or makes the call
// without the scope.
bool begin_call(unsigned image, Mark task) noexcept;
// The number of calls in progress on this thread.
std::size_t calls() noexcept;
// Takes over `mark`, unless it throws.
void enter_for_call(Frame&& frame, ScopeEntry entry);
// Returns the mark that `enter_for_call` took over, or null.
Mark end_call() noexcept;

// For nested calls that LLVM itself makes: these must never wait, and they keep the owner alive themselves. LLVM sees
// this context until the matching `leave_borrowed`, as long as this thread shows what it shows now. Tasks do not see
// the scope.
void enter_borrowed(const std::shared_ptr<contexts::Context>& context, void* owner);
void leave_borrowed() noexcept;

bool has_entered(Mark mark) noexcept;
// The values that a task has in one image, and the owner of their context.
struct Values {
    std::shared_ptr<contexts::Context> context;
    void* owner;
};
struct Shown {
    Mark before = nullptr;  // the mark that the previous call took over, or null
    bool taken = false;     // whether this call took over its mark
};
// Shows the scope of the running task until the next call. `values`: of the task, one for each image at most. Those of
// scopes entered on this thread are not needed.
Shown show(Mark mark, const std::vector<Values>& values);

// Call before the C library runs destructors at the end of the process.
void process_ends() noexcept;
// The number of scopes of an image entered now, on all threads.
std::size_t active_scopes(unsigned image) noexcept;

}  // namespace optctx::scopes

// What each thread is inside of, and how that is kept in line with the task that runs on it.
#pragma once

#include "view/abandoned.hpp"
#include "view/context.hpp"
#include "view/way.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace optctx::view {

// A task (a coroutine, a request, code run in a copied context) is known here only by a mark: an object of the
// caller's, one for each entry into a context, null outside any scope. The task keeps the mark of its innermost scope;
// the thread keeps the scopes that were entered on it. Where the two disagree, code was carried to another thread, or
// another task is suspended inside its scope on this one.
using Mark = void*;

// What the caller gives for a scope. References to `mark` and `token` that it takes back; `owner` lives as long as the
// mark.
struct Entry {
    Mark mark = nullptr;
    void* owner = nullptr;  // what the context is known by
    void* token = nullptr;
    Ticket ticket{};  // of the block that holds it, if one does
};

// The values of a context, for this thread to be let in to.
Frame frame_of(const std::shared_ptr<Context>& context);
// Those of a scope that was entered on this thread, or for a null mark LLVM's own; nothing for any other mark.
std::optional<Frame> frame_here(Mark mark);
// Lets this thread into the frame; see Way.
bool admit_at_once(Frame& frame);
void admit(Frame& frame);
Carried carry(Frame& frame);

// True if LLVM sees on this thread what the task with this mark is inside of.
bool in_line(Mark task) noexcept;
// The innermost scope that this thread shows to LLVM; nothing outside any, and while a call is made for another task.
Entry innermost() noexcept;
// What LLVM sees on this thread, for whatever reason: the context and its owner, or null.
const Context* current_context(unsigned image) noexcept;
void* current_owner(unsigned image) noexcept;
// Whether LLVM has written to the option values there since this thread entered that context.
bool wrote(unsigned image) noexcept;

// After one of the admissions. Takes over the references in `entry`, unless it throws.
void enter(Frame&& frame, Entry entry);
// The scope that leaving `context` leaves: the innermost one; while switches are followed, the one with the mark of the
// running task, wherever it is. Throws ScopeError if that is not of `context`.
Entry to_leave(const Context& context, Mark task);
// For a scope that was entered without its token.
void give_token(Mark mark, void* token) noexcept;
// Leaves it; the references are the caller's again.
void leave(Mark mark) noexcept;

// Leaves whatever this thread is inside of, recordings included: nothing of it will be left the usual way.
void leave_all() noexcept;
// The block of this thread that held the scope is gone, and did not leave it.
void abandon(Ticket ticket) noexcept;
bool any_abandoned() noexcept;
// An abandoned scope that can be left now, with a null mark if there is none. Before Python 3.14 only the innermost
// scope can.
Entry next_abandoned() noexcept;

// For the length of a call into LLVM this thread shows what the task is inside of; calls nest. If nothing has to be
// done for that, `begin_call` returns true; otherwise a frame that was let in comes next, or the call does without.
bool begin_call(Mark task) noexcept;
// Of this thread, under way.
std::size_t calls() noexcept;
// Takes over `mark`, unless it throws.
void enter_for_call(Frame&& frame, Entry entry);
// Returns a mark that was taken over, or null.
Mark end_call() noexcept;

// For LLVM's own calls, further in, which wait for nobody and keep the owner alive themselves: until `leave_borrowed`
// takes the last one back, LLVM sees this context while this thread shows what it shows now. To tasks it is nothing.
void enter_borrowed(const std::shared_ptr<Context>& context, void* owner);
void leave_borrowed() noexcept;

// Where the interpreter reports switches between tasks, scopes of many tasks may be entered on one thread at once. Only
// of use where Way::shows_any.
void follow_switches(bool follow) noexcept;
bool follows_switches() noexcept;
// Shows what the task is inside of, until the next time. `entry` and `context` are of the mark, and not needed if
// `has_entered`; otherwise the mark is taken over. Returns a mark that was taken over before, or null.
bool has_entered(Mark mark) noexcept;
Mark show(Entry entry, const std::shared_ptr<Context>& context);

// A compilation of this thread, in a scope or outside; see Way.
bool begin_compilation_at_once();
void begin_compilation();
void end_compilation() noexcept;

// To be called before the C library runs destructors at the end of the process.
void process_ends() noexcept;
// Scopes that are entered now, over all threads.
std::size_t active_scopes() noexcept;

}  // namespace optctx::view

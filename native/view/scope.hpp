// What each thread is inside of, and how that is kept in line with the task that runs on it.
#pragma once

#include "view/context.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace optctx::view {

// A task (a coroutine, a request, code run in a copied context) is known here only by a mark: an object of the
// caller's, one for each entry into a context, null outside any scope. The task keeps the mark of its innermost scope;
// the thread keeps the scopes that were entered on it. Where the two disagree, code was carried to another thread, or
// another task is suspended inside its scope on this one.
using Mark = void*;

// A scope's mark, and what the caller wants back with it. References that the caller gave and takes back.
struct Entry {
    Mark mark = nullptr;
    void* token = nullptr;
};

// Lets this thread in, past the gate (view/gate.hpp): at once, or after a wait that must not be made while holding what
// a thread inside may need (the GIL). Process-wide changes are in force when `admit` returns; it throws gate::GateError
// or ParseError with nothing changed.
bool admit_at_once(const Context& context) noexcept;
void admit(const Context& context);
// For carried scopes, where nobody may wait: lets this thread in, or to share changes that are in force already.
bool admit_carried(const Context& context) noexcept;

// True if LLVM sees on this thread what the task with this mark is inside of.
bool in_line(Mark task) noexcept;
// The innermost scope that this thread shows to LLVM; nothing outside any, and while a call is made for another task.
Entry innermost() noexcept;

// After one of the admissions. Takes over the references in `entry`, unless it throws.
void enter(const std::shared_ptr<Context>& context, Entry entry);
// The scope that leaving `context` leaves: the innermost one; while switches are followed, the one with the mark of the
// running task, wherever it is. Throws ScopeError if that is not of `context`.
Entry to_leave(const Context& context, Mark task);
// Leaves it; the references are the caller's again.
void leave(Mark mark) noexcept;

// For the length of a call into LLVM this thread shows what the task is inside of; calls nest. False if that needs a
// scope that was not entered on this thread: then `carry` comes next. `mark` is taken over where `taken` says so.
struct Begun {
    bool shown;
    bool taken;
};
Begun begin_call(Mark mark);
// Takes over `mark`. Without `admitted`, process-wide changes do not wait for this call.
void carry(Mark mark, const std::shared_ptr<Context>& context, bool admitted);
// Returns a mark that was taken over, or null.
Mark end_call() noexcept;

// Where the interpreter reports switches between tasks, scopes of many tasks may be entered on one thread at once.
void follow_switches(bool follow) noexcept;
bool follows_switches() noexcept;
// Shows what the task is inside of, until the next time. `context` is of the mark, and may be null if `has_entered`;
// otherwise the mark is taken over. Returns a mark that was taken over before, or null.
bool has_entered(Mark mark) noexcept;
Mark show(Mark mark, const std::shared_ptr<Context>& context);

// Makes the counts right again in children of fork, where only the forking thread lives on. Idempotent.
void watch_forks();
// Scopes that are entered now, over all threads.
std::size_t active_scopes() noexcept;
// References of scopes whose threads ended inside them.
std::vector<void*> take_orphans();

}  // namespace optctx::view

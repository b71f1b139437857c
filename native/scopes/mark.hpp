// By what tasks and scopes know each other.
#pragma once

#include "scopes/tickets.hpp"

#include <atomic>

namespace optctx::scopes {

// A task (a coroutine, a request, code run in a copied contextvars.Context) is known here only by its mark. A mark is
// an object of the caller's, one for each entry into a context; null stands for outside any scope. The task keeps the
// mark of its innermost scope; the thread keeps the scopes that were entered on it. If the two disagree, either code
// was carried to another thread, or another task is suspended inside its scope on this thread.
using Mark = void*;

// What the caller supplies for a scope. `mark` and `token` are references that the caller takes back; `owner` lives as
// long as the mark.
struct ScopeEntry {
    Mark mark = nullptr;
    void* owner = nullptr;  // the caller's object for the context
    void* token = nullptr;
    Ticket ticket{};  // of the block that holds the scope, if any
};

// Where the interpreter reports task switches, scopes of many tasks may be entered on one thread at once.
inline std::atomic<bool> following_switches{false};
inline void follow_switches(bool follow) noexcept { following_switches = follow; }
inline bool follows_switches() noexcept { return following_switches.load(std::memory_order_relaxed); }

}  // namespace optctx::scopes

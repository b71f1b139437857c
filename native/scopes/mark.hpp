// One entry into a context, as tasks and threads know it.
#pragma once

#include "contexts/activation.hpp"
#include "contexts/context.hpp"

#include <atomic>

namespace optctx::scopes {

// A task (a coroutine, a request, code run in a copied contextvars.Context) keeps the mark of its innermost scope and
// takes it to other threads; null stands for outside every scope. The thread that entered the scope keeps the mark,
// too, until it leaves. A mark is part of an object of the caller's that counts its references.
struct Mark {
    void* const object;
    void* const owner;  // the caller's object for the context; both live as long as the mark
    Mark* const outer;  // of the innermost scope of another image around it; lives as long as the mark
    contexts::Context& context;
    // Of the thread that entered the scope, until it leaves.
    const void* const thread = __builtin_thread_pointer();
    contexts::Activated activation{};
    Mark* before = nullptr;  // what that thread showed before; null if that may end earlier

    unsigned image() const noexcept { return context.space().image(); }
    bool is_entered_here() const noexcept { return thread == __builtin_thread_pointer() && activation != nullptr; }
};

// Where the interpreter reports task switches, scopes of many tasks may be entered on one thread at once.
inline std::atomic<bool> following_switches{false};
inline void follow_switches(bool follow) noexcept { following_switches = follow; }
inline bool follows_switches() noexcept { return following_switches.load(std::memory_order_relaxed); }

}  // namespace optctx::scopes

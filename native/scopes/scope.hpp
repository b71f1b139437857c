// What each thread shows LLVM: the scope of the task that runs there, and what takes its place for a while.
#pragma once

#include "contexts/context.hpp"
#include "scopes/mark.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace optctx::scopes {

// What LLVM sees of an image on a thread, and how long what its setters are given there lasts.
struct Seen {
    enum class Lasts : std::uint8_t { scope, scope_of_thread, call };

    contexts::Activation* activation = nullptr;  // null: LLVM's own values
    void* owner = nullptr;                       // the caller's object for the context, if there is one
    Lasts lasts = Lasts::scope;
};
const Seen& seen(unsigned image) noexcept;
// Returns the context that LLVM sees, or null. It is that of a scope, or one that took its place on this thread
// (contexts::Activation::adopt).
const contexts::Context* current_context(unsigned image) noexcept;
// Whether LLVM has written to option values in what it sees since this thread entered it.
bool wrote(unsigned image) noexcept;

// Whether this thread shows the scope of the task with this mark.
bool shows(const Mark* task) noexcept;
// Returns the mark that this thread shows, if it entered that scope; otherwise null.
Mark* shown_here() noexcept;
// Whether a scope can be entered: not while the process ends, nor on a thread whose scopes have ended.
bool may_enter() noexcept;

// Call before the mark of an `enter` has its activation; `enter` then cannot fail.
void make_room();
// Enters a scope and shows it. The caller keeps the mark until `leave`, `leave_all` or the end of the thread, which
// gives the mark's object to add_orphan.
void enter(Mark& mark) noexcept;
// Returns the scope that leaving `context` would leave: the innermost one of this thread or, while switches are
// followed, of the task. Throws contexts::ScopeError if that scope is not of `context`.
Mark& to_leave(const contexts::Context& context, Mark* task);
// Leaves it. While switches are followed, call `follow` next: nothing is shown.
void leave(Mark& mark) noexcept;
// Leaves every scope and recording of this thread, and gives up its calls into LLVM.
void leave_all() noexcept;

// The reference to a mark's object that this thread needs while it shows a scope that another one entered. Takes one
// more; add_orphan takes it back.
inline void (*retain_mark)(Mark&) noexcept = nullptr;
// Shows the scope of the running task until the next call. What another thread entered gets an activation of this
// thread, unless its reads are to be marked: only calls into LLVM see that.
void follow(Mark* task);
// A call into an image begins: this thread shows the scope of the running task until `end_call`. Calls nest. If it
// throws, the call goes on with what the thread showed before, and `end_call` is still to be called.
void begin_call(unsigned image, Mark* task);
// Returns whether the call showed another scope than the thread did. While switches are followed, call `follow` then.
bool end_call() noexcept;
// The number of calls in progress on this thread.
std::size_t calls() noexcept;

// For nested calls that LLVM itself makes: LLVM sees this context until the matching `end_instead`, as long as this
// thread shows what it shows now. Tasks do not see it. The caller keeps the owner alive. What is a part of some `work`
// sees what LLVM wrote in the part before, until `end_work`. Throws views::UnwatchedError, with nothing changed.
void show_instead(const std::shared_ptr<contexts::Context>& context, void* owner, const void* work = nullptr);
void end_instead() noexcept;
void end_work(const void* work) noexcept;

// A scope of C++ code belongs to its thread and to no task; otherwise it is like the above. Such scopes end in any
// order, because each has a full set of values. `thread` and `number` are never 0.
struct ScopeOfThread {
    std::uint64_t thread = 0;
    std::uint64_t number = 0;
};
ScopeOfThread enter_of_thread(const std::shared_ptr<contexts::Context>& context);
enum class Left : std::uint8_t { left, ended, on_another_thread, not_inside };
// Changes nothing unless it returns `left`. `ended`: the thread's scopes have ended already, as the thread has.
Left leave_of_thread(ScopeOfThread scope) noexcept;

// Call before the C library runs destructors at the end of the process.
void process_ends() noexcept;
// The number of scopes of an image entered now, on all threads.
std::size_t active_scopes(unsigned image) noexcept;

}  // namespace optctx::scopes

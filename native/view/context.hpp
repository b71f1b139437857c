// A context: a full set of option values, bound to threads by entering and leaving it.
#pragma once

#include "view/activation.hpp"
#include "view/process_wide.hpp"
#include "view/space.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace optctx::view {

struct ScopeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Always owned by a C++ shared_ptr: a thread that ends inside lets go of it without the GIL.
// Immutable. Any number of threads may be inside at once, each with an activation of its own.
class Context : public std::enable_shared_from_this<Context> {
public:
    // The values that were registered, then `base`, then `overrides` on top. `process_wide`, if there is one, is
    // in force for the whole process while any thread is inside.
    Context(Space& space, std::shared_ptr<const Setting> base, Setting overrides,
            std::shared_ptr<ProcessWide> process_wide);
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context();

    Space& space() const noexcept { return space_; }
    const std::shared_ptr<ProcessWide>& process_wide() const noexcept { return process_wide_; }
    // Where the value of a slot is kept: a pristine copy, whatever LLVM wrote inside a scope.
    void* address(std::uint32_t slot) const;

    // An activation that LLVM has not written to, for one thread.
    ActivationPool::Node acquire();
    void release(ActivationPool::Node activation);

private:
    std::vector<void*> values() const;

    Space& space_;
    std::shared_ptr<const Setting> base_;
    Setting overrides_;
    std::shared_ptr<ProcessWide> process_wide_;
};

// Lets this thread in, past the gate (view/gate.hpp): at once, or after a wait that must not be made while holding what
// a thread inside may need (the GIL). Process-wide changes are in force when `admit` returns; it throws gate::GateError
// or ParseError with nothing changed.
bool admit_at_once(const Context& context) noexcept;
void admit(const Context& context);
// After one of these: the scopes of this thread, innermost last. `owner` is whatever the caller wants back on leaving.
void enter(const std::shared_ptr<Context>& context, void* owner);
// Leaves the innermost scope, which must be of `context`; returns its owner. Throws ScopeError and changes nothing
// otherwise.
void* leave(const Context& context);
// The same for code that has to wait for nobody and keeps the owner alive itself, until `leave_borrowed` takes the
// innermost scope back: LLVM already runs on this thread, and must not wait for others that wait for it.
void enter_borrowed(const std::shared_ptr<Context>& context, void* owner);
void leave_borrowed() noexcept;
// The innermost scope of this thread and image: its context and its owner, or null.
const Context* current_context(unsigned image) noexcept;
void* current_owner(unsigned image) noexcept;
// Makes the counts right again in children of fork, where only the forking thread lives on. Idempotent.
void watch_forks();
// Scopes that are entered now, over all threads.
std::size_t active_scopes() noexcept;
// Owners that nobody holds any more, to be given up by who may: of scopes whose threads ended inside them, and others.
void add_orphan(void* owner) noexcept;
std::vector<void*> take_orphans();

}  // namespace optctx::view

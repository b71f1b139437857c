// A context: a full set of option values, bound to threads by entering and leaving it.
#pragma once

#include "view/activation.hpp"
#include "view/process_wide.hpp"
#include "view/space.hpp"
#include "view/way.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
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

    // Slot -> where its value is kept, for every slot.
    std::vector<void*> values() const;
    // A text that is the same for contexts with the same values and for no others; never empty.
    const std::string& key() const;

    // An activation that LLVM has not written to, for one thread.
    ActivationPool::Node acquire();
    void release(ActivationPool::Node activation);

private:
    std::string find_key() const;

    Space& space_;
    std::shared_ptr<const Setting> base_;
    Setting overrides_;
    std::shared_ptr<ProcessWide> process_wide_;
    mutable std::once_flag key_found_;
    mutable std::string key_;
};

// Lets this thread into the frame's context, at once or after a wait; see Way.
bool admit_at_once(Frame& frame);
void admit(Frame& frame);
// After one of these: the innermost scope of this thread.
void enter(Frame frame);
// Leaves the innermost scope, which must be of `context`; returns its owner. Throws ScopeError and changes nothing
// otherwise.
void* leave(const Context& context);
// The same for code that has to wait for nobody and keeps the owner alive itself, until `leave_borrowed` takes the
// innermost scope back: LLVM already runs on this thread, and must not wait for others that wait for it.
void enter_borrowed(const std::shared_ptr<Context>& context, void* owner);
void leave_borrowed() noexcept;
// A compilation of this thread, in a scope or outside; see Way.
bool begin_compilation_at_once();
void begin_compilation();
void end_compilation() noexcept;
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

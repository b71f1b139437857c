// A context: a full set of option values, bound to threads by entering and leaving it.
#pragma once

#include "view/space.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace optctx::view {

struct ScopeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// One thread's use of a context: a view, and its own copies of the regions that LLVM itself writes.
class Activation {
public:
    Activation(Space& space, const std::vector<void*>& values);
    Activation(const Activation&) = delete;
    Activation& operator=(const Activation&) = delete;
    ~Activation();
    // Forgets what LLVM wrote since the last reset.
    void reset(const Block& written);
    View view() noexcept { return view_.data(); }

private:
    Space& space_;
    std::vector<void*> view_;
    std::unique_ptr<Block> written_;
};

// Immutable but for its pool of activations. Any number of threads may be inside at once.
class Context : public std::enable_shared_from_this<Context> {
public:
    // The values that were registered, then `base`, then `overrides` on top.
    Context(Space& space, std::shared_ptr<const Setting> base, Setting overrides);
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context();

    Space& space() const noexcept { return space_; }
    // Where the value of a slot is kept: a pristine copy, whatever LLVM wrote inside a scope.
    void* address(std::uint32_t slot) const;

    std::unique_ptr<Activation> acquire();
    void release(std::unique_ptr<Activation> activation) noexcept;

private:
    std::vector<void*> values() const;
    std::unique_ptr<Block> written_template(const std::vector<void*>& values) const;

    Space& space_;
    std::shared_ptr<const Setting> base_;
    Setting overrides_;
    std::mutex mutex_;
    std::unique_ptr<Block> written_;  // what every activation starts with; made when first entered
    std::vector<std::unique_ptr<Activation>> idle_;
};

// The scopes of this thread, innermost last. `owner` is whatever the caller wants back on leaving.
void enter(const std::shared_ptr<Context>& context, void* owner);
// Leaves the innermost scope, which must be of `context`; returns its owner. Throws ScopeError and changes nothing
// otherwise.
void* leave(const Context& context);
// Owner of the innermost scope of this thread and image, or null.
void* current_owner(unsigned image) noexcept;
// Scopes that are entered now, over all threads.
std::size_t active_scopes() noexcept;
// Owners of scopes whose threads ended inside them.
std::vector<void*> take_orphans();

}  // namespace optctx::view

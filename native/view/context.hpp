// A context: a full set of option values, bound to threads by entering and leaving it.
#pragma once

#include "view/activation.hpp"
#include "view/process_wide.hpp"
#include "view/space.hpp"

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

}  // namespace optctx::view

// An activation: one thread's use of a context. Idle ones are kept for later entries.
#pragma once

#include "contexts/storage.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace optctx::contexts {

class Context;

// What LLVM's own setters were given on one thread inside a context, since the thread entered it.
struct Given {
    // By slot, without those before the last reset.
    std::map<std::uint32_t, values::Occurrences> occurrences;
    bool was_reset = false;  // every option had its registered value at some moment
};

// A view, with private copies of the regions that LLVM itself may write.
class Activation {
public:
    // `context` must outlive the activation.
    explicit Activation(Context& context);
    Activation(const Activation&) = delete;
    Activation& operator=(const Activation&) = delete;
    ~Activation();

    // Discard what LLVM wrote since the last reset, and poison the readers whose marks have been cleared.
    void reset();
    // LLVM has been given addresses of the copies of these groups of slots, or has written to them.
    void expose(const views::Exposed& groups) noexcept { storage_.expose(groups); }
    // Return a number that no other entry into a context has.
    std::uint64_t entry() const noexcept { return entry_; }
    // Return whether LLVM has written to options or their variables since the last reset.
    bool written() const noexcept { return storage_.is_written(); }
    views::View view() noexcept { return storage_.view(); }

    // Show the values of `context` from now on: its options and their variables as they are there, state beside them
    // as LLVM left it. With `fresh`, what LLVM has written to options is gone, too. An activation that adopted a
    // context cannot be used again for the first one.
    void adopt(std::shared_ptr<Context> context, Given given, bool fresh);
    // Return the context that a thread has entered.
    Context& entered() const noexcept { return entered_; }
    // Return the context whose values are shown, and how it came to be: the first one's and empty before `adopt`.
    Context& shown() const noexcept { return adopted_ != nullptr ? *adopted_ : entered_; }
    const std::shared_ptr<Context>& adopted() const noexcept { return adopted_; }
    const Given& given() const noexcept { return given_; }
    // Return the slot of the option that the view leads to at this address; nullopt if it is none of the activation's.
    std::optional<std::uint32_t> slot_of(std::uintptr_t option) const noexcept;
    // Return whether LLVM's debug flag is raised for the adopted context.
    bool raises_flag() const noexcept { return raises_flag_; }

private:
    Context& entered_;
    Storage storage_;
    std::uint64_t entry_;
    std::shared_ptr<Context> adopted_;
    Given given_;
    bool raises_flag_ = false;
};

// Keep an activation for later. The process keeps a bounded number of idle ones.
struct Release {
    void operator()(Activation* activation) const noexcept;
};
using Activated = std::unique_ptr<Activation, Release>;
// Return an activation of the context that LLVM has not written to, for one thread: an idle one if there is any, which
// is several times faster than making one. Throws views::UnwatchedError like Context::come_in.
Activated acquire(Context& context);
// Drop the idle ones of a context that is about to be destroyed.
void forget_idle(const Context& context);

}  // namespace optctx::contexts

// A context: a full set of option values, bound to threads by entering and leaving it.
#pragma once

#include "view/activation.hpp"
#include "view/poison.hpp"
#include "view/process_wide.hpp"
#include "view/space.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
    // in force for the whole process while any thread is inside. With `reads`, readers are marked there while any
    // thread is inside; the space must have a layout then.
    Context(Space& space, std::shared_ptr<const Setting> base, Setting overrides,
            std::shared_ptr<ProcessWide> process_wide, std::shared_ptr<Reads> reads);
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context();

    Space& space() const noexcept { return space_; }
    const std::shared_ptr<ProcessWide>& process_wide() const noexcept { return process_wide_; }
    const std::shared_ptr<Reads>& reads() const noexcept { return reads_; }
    const Setting& overrides() const noexcept { return overrides_; }
    // Where the value of a slot is kept: a pristine copy, whatever LLVM wrote inside a scope.
    void* address(std::uint32_t slot) const;
    // What LLVM was given for that value (Block::text); empty where that is not known.
    std::string text(std::uint32_t slot) const;

    // Slot -> where its value is kept, for every slot.
    std::vector<void*> values() const;
    // Slots whose regions are not as they were registered, in order.
    std::vector<std::uint32_t> changed() const;
    // A text that is the same for contexts with the same values and for no others; never empty.
    const std::string& key() const;

    // While a thread is inside, LLVM's flag for debug output is up.
    bool raises_flag() const noexcept { return raises_flag_; }

    // An activation that LLVM has not written to, for one thread.
    // Throws UnwatchedError if reads are watched and this thread's faults cannot be handled.
    ActivationPool::Node acquire();
    void release(ActivationPool::Node activation);
    // Until it is let go, LLVM may come to read here although no thread is inside.
    void hold() noexcept;
    void let_go() noexcept;
    // With no thread inside: readers marked since the last time, which are forgotten. Nothing while some are inside, or
    // while it is held, or where nobody wants to know or some were lost.
    std::optional<std::vector<std::uint32_t>> take_reads();
    // In the child of a fork: of the threads inside each context only those that `inside` counts are there.
    static void count_threads_again(const std::function<std::size_t(const Context&)>& inside) noexcept;

private:
    const Block* block(std::uint32_t slot) const;
    std::string find_key() const;
    void come_in();
    void go_out();
    bool flag_is_set() const;

    Space& space_;
    std::shared_ptr<const Setting> base_;
    Setting overrides_;
    std::shared_ptr<ProcessWide> process_wide_;
    std::shared_ptr<Reads> reads_;
    bool raises_flag_ = false;  // LLVM prints debug output inside
    // Guarded, as what follows, by one mutex of all contexts, which can be held around a fork.
    std::size_t inside_ = 0;
    std::size_t held_ = 0;
    std::optional<PoisonHandler> handler_;                  // while anybody is inside
    mutable std::atomic<const std::string*> key_{nullptr};  // found when first asked for; owned
};

}  // namespace optctx::view

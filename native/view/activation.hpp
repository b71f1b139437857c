// An activation: one thread's use of a context. The pool keeps a bounded number of idle ones for later entries.
#pragma once

#include "os/fork_locks.hpp"
#include "view/space.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

namespace optctx::view {

// A view, with private copies of the regions that LLVM itself may write.
class Activation {
public:
    // `values` maps each slot to the storage that holds its value. That storage, `owner` and `reads` must outlive the
    // activation. If `reads` is not null, readers are marked there.
    Activation(Space& space, std::vector<void*> values, Context* owner, Reads* reads);
    Activation(const Activation&) = delete;
    Activation& operator=(const Activation&) = delete;
    ~Activation();

    // Discards what LLVM wrote since the last reset, and poisons the readers whose marks have been cleared.
    void reset();
    // True if LLVM has written to options or their variables since the last reset.
    bool written() const noexcept;
    View view() noexcept { return view_.data(); }

private:
    void renew_sets();

    Space& space_;
    Reads* reads_;
    std::vector<void*> view_;
    std::unique_ptr<Block> copies_;
    std::vector<std::uint64_t> pristine_;     // value of each hot word before LLVM ran
    std::vector<const void*> pristine_sets_;  // for each copied set, the option whose value it starts with
};

// Idle activations, oldest first. Re-entering a context takes one of its own back, which is several times faster than
// making a new one. The pool keeps at most `capacity`.
class ActivationPool {
public:
    struct Idle {
        const void* owner;
        std::unique_ptr<Activation> activation;
    };
    using Node = std::list<Idle>;  // holds one element; spliced between lists, never copied

    explicit ActivationPool(std::size_t capacity) : capacity_(capacity) {}
    // Returns an idle activation of this owner, or an empty list.
    Node take(const void* owner);
    void give(Node node);
    // Drops the activations of an owner that is about to be destroyed.
    void forget(const void* owner);

private:
    std::size_t capacity_;
    os::ForkSafeMutex mutex_{os::Rank::activations};
    std::list<Idle> idle_;
};

}  // namespace optctx::view

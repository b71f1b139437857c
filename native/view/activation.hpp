// One thread's use of a context, and the pool that keeps a bounded number of them for the next entry.
#pragma once

#include "os/fork_locks.hpp"
#include "view/space.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

namespace optctx::view {

// A view, and its own copies of the regions that LLVM itself may write.
class Activation {
public:
    // `values`: slot -> storage that holds the value, which must outlive this, as must `owner` and `reads`, if not
    // null: where readers are to be marked.
    Activation(Space& space, std::vector<void*> values, Context* owner, Reads* reads);
    Activation(const Activation&) = delete;
    Activation& operator=(const Activation&) = delete;
    ~Activation();

    // Forgets what LLVM wrote since the last reset, and waits again for readers that are not marked any more.
    void reset();
    // True if LLVM wrote to options since then, or to their variables.
    bool written() const noexcept;
    View view() noexcept { return view_.data(); }

private:
    void renew_sets();

    Space& space_;
    Reads* reads_;
    std::vector<void*> view_;
    std::unique_ptr<Block> copies_;
    std::vector<std::uint64_t> pristine_;     // of each hot word, as it was before LLVM ran
    std::vector<const void*> pristine_sets_;  // of each copied set: the option whose value it starts with
};

// Activations that nobody is inside, oldest first. A context that is entered again takes its own back, which is
// several times faster than making one; more than `capacity` are not kept.
class ActivationPool {
public:
    struct Idle {
        const void* owner;
        std::unique_ptr<Activation> activation;
    };
    using Node = std::list<Idle>;  // holds one element; moved from list to list, never copied

    explicit ActivationPool(std::size_t capacity) : capacity_(capacity) {}
    // An idle activation of this owner, or an empty list.
    Node take(const void* owner);
    void give(Node node);
    // Drops what is kept for an owner that is about to go.
    void forget(const void* owner);

private:
    std::size_t capacity_;
    os::ForkSafeMutex mutex_{os::Rank::activations};
    std::list<Idle> idle_;
};

}  // namespace optctx::view

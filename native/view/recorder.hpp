// What LLVM reads on one thread, from start to stop.
#pragma once

#include "view/abandoned.hpp"
#include "view/context.hpp"
#include "view/poison.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace optctx::view {

// Under one context; null: outside every scope.
struct SeenReads {
    std::shared_ptr<Context> context;
    Reads reads;
};

// LLVM reads through words of the recorder's own, which are poisoned. Recorders nest.
class Recorder final : public Substitute, public std::enable_shared_from_this<Recorder> {
public:
    // Begins on this thread, once. Throws UnwatchedError where its faults cannot be handled, with nothing changed.
    void start(Ticket ticket);
    // Ends it, and gives what was read to the one that it is in, if any. Throws ScopeError unless it is the innermost
    // one of this thread. `seen` stays as it is then.
    void stop();
    const std::vector<std::unique_ptr<SeenReads>>& seen() const noexcept { return seen_; }
    // On its own thread, before its end: takes over what those inside it have seen so far.
    void gather() noexcept;
    // False if there was no memory for some of it.
    bool complete() const noexcept { return complete_; }

    View instead_of(View view) noexcept override;
    void mark(std::size_t reader) noexcept override {
        if (now_ != nullptr) now_->reads.mark(reader);
    }

    explicit Recorder(const Space& space);
    // The block of this thread with the ticket is gone, and did not stop its recorder: stops it, as soon as it is the
    // innermost one.
    static void abandon(Ticket ticket) noexcept;

    void lose() noexcept override { lost_ = true; }
    // True if somebody took the faults of this thread over, so that reads after that were not seen.
    bool lost() const noexcept { return lost_; }

private:
    SeenReads& seen_under(Context* context);
    void add(const Recorder& inner) noexcept;
    static void stop_innermost() noexcept;
    static void stop_abandoned() noexcept;

    std::shared_ptr<const Layout> layout_;
    std::optional<PoisonHandler> handler_;
    std::vector<void*> words_;
    std::vector<std::unique_ptr<SeenReads>> seen_;
    SeenReads* now_ = nullptr;  // null if there was no memory for it
    bool complete_ = true;
    bool lost_ = false;
    Ticket ticket_{};
    bool abandoned_ = false;
};

// Over all threads.
std::size_t active_recorders() noexcept;
// Ends those of this thread, which nobody will end.
void drop_recorders() noexcept;
// In a child of fork, where only this thread lives on.
void count_recorders_again() noexcept;

}  // namespace optctx::view

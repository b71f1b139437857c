// Records what LLVM reads on one thread, from start to stop.
#pragma once

#include "contexts/context.hpp"
#include "views/poison.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace optctx::scopes {

// The reads under one context; null stands for reads outside every scope.
struct SeenReads {
    std::shared_ptr<contexts::Context> context;
    views::Reads reads;
};

// One image reads through the recorder's own poisoned words. Recorders nest.
class Recorder final : public views::Substitute, public std::enable_shared_from_this<Recorder> {
public:
    // Starts recording on this thread; call once. Throws views::UnwatchedError, with nothing changed, if this thread's
    // faults cannot be handled.
    void start();
    // Stops recording and adds the reads to the enclosing recorder of the same image, if any. Throws
    // contexts::ScopeError unless this is the innermost recorder of this thread. `seen` does not change afterwards.
    void stop();
    const std::vector<std::unique_ptr<SeenReads>>& seen() const noexcept { return seen_; }
    // Adds what the recorders nested in this one have seen so far. Call on the recording thread, before `stop`.
    void gather() noexcept;

    views::View instead_of(views::View view) noexcept override;
    void mark(std::size_t reader) noexcept override { now_->reads.mark(reader); }

    explicit Recorder(const values::Space& space);
    // Before `start`: leave out the reads of all readers but these, unless an enclosing recorder wants more.
    void only(const std::vector<std::uint32_t>& readers);
    // The readers that read, of a member of `seen`.
    std::vector<std::uint32_t> readers(const SeenReads& seen) const;

    void lose() noexcept override { lost_ = true; }
    // True if other code took over this thread's faults, so that later reads were not seen.
    bool lost() const noexcept { return lost_; }

private:
    SeenReads& seen_under(contexts::Context* context);
    void add(const Recorder& inner) noexcept;

    std::shared_ptr<const views::Layout> layout_;
    std::optional<views::PoisonHandler> handler_;
    std::vector<void*> words_;
    std::vector<std::unique_ptr<SeenReads>> seen_;
    std::unique_ptr<views::Reads>
        unwanted_;              // null if all are wanted; otherwise marked in every views::Reads from the beginning
    SeenReads* now_ = nullptr;  // from the first view on
    bool lost_ = false;
};

// The number of recorders of an image, on all threads.
std::size_t active_recorders(unsigned image) noexcept;
// Stops the recorders of this thread; their blocks will not stop them.
void drop_recorders() noexcept;
// Runs in the child of a fork, where only this thread survives.
void count_recorders_again() noexcept;

}  // namespace optctx::scopes

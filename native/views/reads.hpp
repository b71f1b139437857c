// Which readers have read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace optctx::views {

// Any number of threads may mark readers, including in signal handlers. Owned by a C++ shared_ptr, as Context is.
class Reads : public std::enable_shared_from_this<Reads> {
public:
    explicit Reads(std::size_t readers) : marks_(readers) {}
    // For a context that inherits from another context: a read of a value that it does not hide counts for both.
    Reads(std::shared_ptr<Reads> from, std::vector<bool> hides)
        : marks_(hides.size()), from_(std::move(from)), hides_(std::move(hides)) {}

    bool has(std::size_t reader) const noexcept { return marks_[reader].load(std::memory_order_relaxed) != 0; }
    // True if marking this reader would change nothing.
    bool knows(std::size_t reader) const noexcept {
        return (has(reader) || lost()) && (from_ == nullptr || hides_[reader] || from_->knows(reader));
    }
    void mark(std::size_t reader) noexcept {
        marks_[reader].store(1, std::memory_order_relaxed);
        if (from_ != nullptr && !hides_[reader]) from_->mark(reader);
    }
    void clear() noexcept {
        for (auto& mark : marks_) mark.store(0, std::memory_order_relaxed);
        lost_.store(false, std::memory_order_relaxed);
    }
    // Some reads may go unmarked from now on, so no reader needs to be poisoned until `clear`.
    void lose() noexcept {
        lost_.store(true, std::memory_order_relaxed);
        if (from_ != nullptr) from_->lose();
    }
    bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
    void add(const Reads& other) noexcept {
        for (std::size_t reader = 0; reader < marks_.size(); ++reader)
            if (other.has(reader)) mark(reader);
    }
    // Unmarks what another has not marked. For Reads that no other thread marks, and that inherit from none.
    void keep_common(const Reads& other) noexcept {
        for (std::size_t reader = 0; reader < marks_.size(); ++reader)
            if (!other.has(reader)) marks_[reader].store(0, std::memory_order_relaxed);
    }
    std::vector<std::uint32_t> readers() const {
        std::vector<std::uint32_t> found;
        for (std::size_t reader = 0; reader < marks_.size(); ++reader)
            if (has(reader)) found.push_back(static_cast<std::uint32_t>(reader));
        return found;
    }

private:
    std::vector<std::atomic<std::uint8_t>> marks_;
    std::atomic<bool> lost_{false};
    std::shared_ptr<Reads> from_;
    std::vector<bool> hides_;
};

}  // namespace optctx::views

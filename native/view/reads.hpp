// Which readers have read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace optctx::view {

// Marked by any number of threads, in signal handlers, too.
class Reads {
public:
    explicit Reads(std::size_t readers) : marks_(readers) {}
    bool has(std::size_t reader) const noexcept { return marks_[reader].load(std::memory_order_relaxed) != 0; }
    void mark(std::size_t reader) noexcept { marks_[reader].store(1, std::memory_order_relaxed); }
    void clear() noexcept {
        for (auto& mark : marks_) mark.store(0, std::memory_order_relaxed);
    }
    void add(const Reads& other) noexcept {
        for (std::size_t reader = 0; reader < marks_.size(); ++reader)
            if (other.has(reader)) mark(reader);
    }
    std::vector<std::uint32_t> readers() const {
        std::vector<std::uint32_t> found;
        for (std::size_t reader = 0; reader < marks_.size(); ++reader)
            if (has(reader)) found.push_back(static_cast<std::uint32_t>(reader));
        return found;
    }

private:
    std::vector<std::atomic<std::uint8_t>> marks_;
};

}  // namespace optctx::view

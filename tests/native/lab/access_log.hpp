// The accesses that an audit noted: a table of fixed size to which signal handlers on any thread may add.
#pragma once

#include "views/view.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace optctx::audit {

struct Seen {
    std::uintptr_t instruction;
    std::uintptr_t address;  // of the data, at the first access
    std::uint32_t slot;
    bool write;
    std::uint64_t count;
};

// One entry for each instruction, region and direction. Lock-free; allocates nothing.
class Log {
public:
    void add(std::uintptr_t instruction, std::uintptr_t address, std::uint32_t slot, bool write) noexcept;
    // Sorted by instruction.
    std::vector<Seen> entries() const;
    // The number of accesses that did not fit.
    std::uint64_t lost() const noexcept { return lost_; }
    void clear() noexcept;

private:
    static constexpr std::size_t capacity = 4096;
    struct Entry {
        std::atomic<std::uint64_t> key{0};  // 0: free
        std::atomic<std::uintptr_t> address{0};
        std::atomic<std::uint64_t> count{0};
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
    static_assert(views::max_slots <= 4096, "a slot takes 12 bits of a key");

    std::array<Entry, capacity> entries_;
    std::atomic<std::uint64_t> lost_{0};
};

}  // namespace optctx::audit

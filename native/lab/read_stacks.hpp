// The call stack of the first read of each reader.
#pragma once

#include "lab/unwinding.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace optctx::lab {

class ReadStacks : public std::enable_shared_from_this<ReadStacks> {
public:
    struct Stack {
        std::uint32_t reader;
        std::span<const std::uintptr_t> addresses;  // one in each frame, the reader's own first
        bool whole;                                 // false if outer frames are missing
    };

    ReadStacks(unsigned image, std::size_t readers, MadeCode made);
    // From `start` to `stop`, what this thread reads while it is recorded is kept in `stacks`. Blocks nest.
    static void start(std::shared_ptr<ReadStacks> stacks);
    static void stop() noexcept;
    std::vector<Stack> stacks() const;
    // False if there was no room for the stacks of some readers.
    bool complete() const noexcept { return complete_; }

private:
    struct Entry {
        std::uint32_t reader;
        std::uint32_t count;
        std::size_t begin;
        bool whole;
    };
    static void on_first_read(unsigned image, std::size_t reader, ucontext_t& context) noexcept;
    // Called in a signal handler, as unwind is. Does nothing for a reader that has a stack already.
    void keep(std::size_t reader, ucontext_t& context) noexcept;

    unsigned image_;
    MadeCode made_;
    std::vector<bool> known_;  // by reader
    std::vector<Entry> entries_;
    std::unique_ptr<std::uintptr_t[]> addresses_;
    std::size_t used_ = 0;
    bool complete_ = true;
};

}  // namespace optctx::lab

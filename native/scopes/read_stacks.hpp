// The call stack of the first read of each reader.
#pragma once

#include "arch/unwinding.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace optctx::scopes {

class ReadStacks {
public:
    struct Stack {
        std::uint32_t reader;
        std::span<const std::uintptr_t> addresses;  // one in each frame, the reader's own first
        bool whole;                                 // false if outer frames are missing
    };

    ReadStacks(std::size_t readers, std::shared_ptr<const arch::MadeCode> made);
    // Called in a signal handler, as arch::unwind is. Does nothing for a reader that has a stack already.
    void keep(std::size_t reader, ucontext_t& context, const arch::Interrupted& at) noexcept;
    // Takes over the stacks of readers that have none here.
    void add(const ReadStacks& other) noexcept;
    std::vector<Stack> stacks() const;
    const std::shared_ptr<const arch::MadeCode>& made() const noexcept { return made_; }
    // False if there was no room for the stacks of some readers.
    bool complete() const noexcept { return complete_; }

private:
    struct Entry {
        std::uint32_t reader;
        std::uint32_t count;
        std::size_t begin;
        bool whole;
    };
    std::span<std::uintptr_t> room() const noexcept;
    void enter(std::size_t reader, std::size_t count, bool whole) noexcept;

    std::shared_ptr<const arch::MadeCode> made_;
    std::vector<bool> known_;  // by reader
    std::vector<Entry> entries_;
    std::unique_ptr<std::uintptr_t[]> addresses_;
    std::size_t used_ = 0;
    bool complete_ = true;
};

}  // namespace optctx::scopes

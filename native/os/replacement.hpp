// Replaces the code of a running library in one step, as seen from every thread.
#pragma once

#include "os/os.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace optctx::os {

// Builds a second mapping of the pages that hold [begin, end), which no thread runs: the same part of the same file,
// with what memory holds and what is to be changed. `install` moves it over the first in a single mremap(2).
//
// The kernel holds the lock of the address space from before the old pages go until the new ones are there. A thread
// that meets the gap waits in its page fault, and no thread sees one page without the other. Each processor is
// interrupted on the way (TLB shootdown), which serialises it: none runs on with instructions that it fetched before.
// No signal is needed, nothing is asked of other threads, and no page is ever writable and executable at once.
//
// Lost: what another thread writes into these pages while `install` is at work.
class Replacement {
public:
    // Throws OsError; std::runtime_error if the pages are not code, or not mapped from one place.
    Replacement(std::uintptr_t begin, std::uintptr_t end);
    // Has `bytes`, which the caller keeps, at `address`; in ascending order, without overlaps, within [begin, end).
    void write(std::uintptr_t address, std::span<const std::uint8_t> bytes) { edits_.push_back({address, bytes}); }
    // Throws OsError with nothing changed. For tests: `fail_at` makes a step, from 1, fail as if the kernel had refused
    // it. The steps: make the second mapping executable, move it.
    void install(std::size_t fail_at = 0);

private:
    struct Edit {
        std::uintptr_t address;
        std::span<const std::uint8_t> bytes;
        std::uintptr_t end() const noexcept { return address + bytes.size(); }
    };
    void fill();
    void fill_page(std::uintptr_t page, const Edit* first, const Edit* last);

    std::uintptr_t begin_;
    std::uintptr_t end_;
    bool same_file_ = false;  // the file can be opened, and is the very one that is mapped
    Mapping mapping_;
    std::vector<Edit> edits_;
    std::vector<std::uint8_t> page_;  // what a page is to hold
};

}  // namespace optctx::os

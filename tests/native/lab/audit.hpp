// Proves that no read of an option was missed. While an audit is on, the pages of LLVM's option storage are protected,
// and every access that should have gone through a view is noted.
#pragma once

#include "values/space.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace optctx::audit {

// Accesses of one instruction to one region that bypassed the view.
struct Seen {
    std::uintptr_t instruction;
    std::uintptr_t address;  // of the data, at the first access
    std::uint32_t slot;
    bool write;
    std::uint64_t count;
};

struct Report {
    std::vector<Seen> seen;
    std::uint64_t neighbours;  // accesses to storage beside options
    std::uint64_t entitled;    // to options, by optctx or by threads whose view shows LLVM's own storage there
    std::size_t regions;       // watched
    std::size_t pages;         // protected
    bool complete;             // false: the system or the log failed, and accesses may be missing
};

// Notes an access if the thread's view has storage of its own for the region, where the access should have gone. Then
// completes it, like every access to a neighbour: single-steps the instruction with the page open. Affects every
// thread. While one thread steps, accesses of other threads to the same page may go unnoticed. Call with the GIL.
void start(const values::Space& space);
// Restores the protections. The handlers stay, for a thread that may still meet a fault of a formerly protected page,
// and pass everything else on.
Report stop();

}  // namespace optctx::audit

// Proves that no read of an option was missed. While an audit is on, the pages of LLVM's option storage are protected,
// and every access that should have gone through a view is noted.
#pragma once

#include "lab/access_log.hpp"
#include "values/space.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace optctx::audit {

// An audit cannot start or stop; nothing has changed.
struct AuditError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Report {
    std::vector<Seen> seen;    // accesses past the view, by instruction and region
    std::uint64_t neighbours;  // to storage beside options
    std::uint64_t entitled;    // to options, by optctx or by threads whose view shows LLVM's own storage there
    std::size_t regions;       // watched
    std::size_t pages;         // protected
    bool complete;             // false: the system or the log failed, and accesses may be missing
};

// Notes an access if the thread's view has storage of its own for the region, where the access should have gone. Then
// completes it, like every access to a neighbour: single-steps the instruction with the page open. Affects every
// thread. While one thread steps, accesses of other threads to the same page may go unnoticed.
void start(const values::Space& space);
// Restores the protections. Removes the handlers if no other thread exists; otherwise a thread may still meet a fault
// of a formerly protected page, so they stay and pass everything else on. One thread at a time starts or stops an
// audit.
Report stop();

}  // namespace optctx::audit

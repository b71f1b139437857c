// Proof that no read of an option was missed: while an audit is on, the pages of LLVM's option storage are protected,
// and whoever touches an option there without being meant to is noted.
#pragma once

#include "audit/log.hpp"
#include "view/space.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace optctx::audit {

// An audit cannot start; nothing has changed.
struct AuditError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Report {
    std::vector<Seen> seen;    // accesses past the view, by instruction and region
    std::uint64_t neighbours;  // accesses to what lies beside options
    std::uint64_t entitled;    // to options, by threads whose view shows LLVM's own storage there, or by optctx
    std::uint64_t steps;       // accesses of any kind that took a single step
    std::size_t regions;       // watched
    std::size_t pages;         // protected
    bool complete;             // false: the system or the table failed, and accesses may have been missed
};

// An access is noted if the thread's view has storage of its own for the region: it should have gone there. It is
// then let through, as is every access to a neighbour: plain loads are done by hand, anything else by a single step
// with the page open. Reaches every thread; while one thread steps, what another does on the same page may go
// unnoticed.
void start(const view::Space& space);
// Protections as they were. Handlers too, if no other thread is left that may have met a protected page; otherwise
// they stay, and pass everything on.
Report stop();

}  // namespace optctx::audit

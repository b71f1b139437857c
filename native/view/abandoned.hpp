// Blocks that ended on a thread that did not enter them: a generator that another thread closes, a frame that another
// thread frees. Only the thread inside can leave, so each block has a ticket, and the ticket waits for that thread.
#pragma once

#include <cstdint>
#include <vector>

namespace optctx::view {

// Unique in the process. 0 stands for a block that no object holds: a plain call of `__enter__`.
struct Ticket {
    std::uint64_t thread = 0;  // the serial number of the thread that took it
    std::uint64_t number = 0;

    friend bool operator==(const Ticket&, const Ticket&) = default;
    explicit operator bool() const noexcept { return number != 0; }
};

// Of this thread.
Ticket new_ticket();
bool is_of_this_thread(Ticket ticket) noexcept;
// For the thread of the ticket, if it still lives. Drops the ticket where there is no memory.
void post_abandoned(Ticket ticket) noexcept;
// Those posted for this thread.
bool any_posted() noexcept;
std::vector<Ticket> take_posted();
// In a child of fork, where only this thread lives on, with the locks held.
void only_this_thread_abandons() noexcept;

}  // namespace optctx::view

// Blocks that ended on a thread other than the one that entered them: another thread closed the generator or freed the
// frame. Only the thread inside can leave, so each block has a ticket, which waits for that thread.
#pragma once

#include <cstdint>
#include <vector>

namespace optctx::scopes {

// Unique in the process. Number 0 means that no object holds the block: `__enter__` was called directly.
struct Ticket {
    std::uint64_t thread = 0;  // serial number of the thread that took the ticket
    std::uint64_t number = 0;

    friend bool operator==(const Ticket&, const Ticket&) = default;
    explicit operator bool() const noexcept { return number != 0; }
};

// Makes a ticket of this thread.
Ticket new_ticket();
bool is_of_this_thread(Ticket ticket) noexcept;
// Calls `abandon` with a ticket of this thread. Posts that of another one, if that thread still lives; drops it if
// memory runs out.
void abandon_on_its_thread(Ticket ticket, void (*abandon)(Ticket) noexcept) noexcept;
// Whether tickets are posted for any thread, and the removal of those posted for this thread, or of some of them.
bool any_posted() noexcept;
std::vector<Ticket> take_posted(bool (*is_wanted)(Ticket) noexcept = nullptr);
// Runs in the child of a fork, where only this thread survives, with the locks held.
void only_this_thread_abandons() noexcept;

}  // namespace optctx::scopes

#include "scopes/tickets.hpp"

#include "os/fork_locks.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <new>

namespace optctx::scopes {
namespace {

// Outlives every thread.
struct Posted {
    os::ForkSafeMutex mutex{os::Rank::abandoned};
    std::vector<std::uint64_t> living;  // threads that have taken tickets
    std::vector<Ticket> tickets;
    std::atomic<std::size_t> count{0};
};

Posted* instance = new Posted;
std::atomic<std::uint64_t> next_thread{1};

// One per thread, from its first ticket until it ends.
struct Serial {
    std::uint64_t thread = 0;
    std::uint64_t tickets = 0;

    ~Serial() {
        if (thread == 0) return;
        Posted& posted = *instance;
        const std::lock_guard lock(posted.mutex);
        std::erase(posted.living, thread);
        std::erase_if(posted.tickets, [this](const Ticket& each) { return each.thread == thread; });
        posted.count = posted.tickets.size();
    }
};

thread_local Serial serial;

}  // namespace

Ticket new_ticket() {
    if (serial.thread == 0) {
        const std::uint64_t thread = next_thread.fetch_add(1);
        const std::lock_guard lock(instance->mutex);
        instance->living.push_back(thread);
        serial.thread = thread;
    }
    return {serial.thread, ++serial.tickets};
}

bool is_of_this_thread(Ticket ticket) noexcept { return ticket.thread == serial.thread; }

void abandon_on_its_thread(Ticket ticket, void (*abandon)(Ticket) noexcept) noexcept {
    if (is_of_this_thread(ticket)) return abandon(ticket);
    Posted& posted = *instance;
    const std::lock_guard lock(posted.mutex);
    if (std::find(posted.living.begin(), posted.living.end(), ticket.thread) == posted.living.end()) return;
    try {
        posted.tickets.push_back(ticket);
    } catch (const std::bad_alloc&) {
        return;
    }
    posted.count = posted.tickets.size();
}

bool any_posted() noexcept { return instance->count.load(std::memory_order_relaxed) != 0; }

std::vector<Ticket> take_posted(bool (*is_wanted)(Ticket) noexcept) {
    Posted& posted = *instance;
    const std::lock_guard lock(posted.mutex);
    const auto own =
        std::stable_partition(posted.tickets.begin(), posted.tickets.end(), [is_wanted](const Ticket& each) {
            return !is_of_this_thread(each) || (is_wanted != nullptr && !is_wanted(each));
        });
    std::vector<Ticket> taken(own, posted.tickets.end());
    posted.tickets.erase(own, posted.tickets.end());
    posted.count = posted.tickets.size();
    return taken;
}

void only_this_thread_abandons() noexcept {
    std::erase_if(instance->living, [](std::uint64_t thread) { return thread != serial.thread; });
    std::erase_if(instance->tickets, [](const Ticket& each) { return each.thread != serial.thread; });
    instance->count = instance->tickets.size();
}

}  // namespace optctx::scopes

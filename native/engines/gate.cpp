#include "engines/gate.hpp"

#include "os/fork_locks.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace optctx::engines::gate {
namespace {

enum class Phase { open, changing, in_force, undoing };

struct GateState {
    std::atomic<std::size_t> inside{0};  // threads
    std::atomic<bool> closed{false};     // a thread waits, or the phase is not `open`
    os::ForkSafeMutex mutex{os::Rank::gate};
    os::ForkSafeCondition moved;
    Phase phase = Phase::open;
    values::ChangeKey changes{};         // the changes in force, or being made
    std::vector<unsigned long> sharers;  // threads that have closed the gate
    std::size_t waiting = 0;             // threads
    std::size_t waiting_closers = 0;
    std::uint64_t next_ticket = 0;
    std::uint64_t serving = 0;
    std::vector<std::uint64_t> given_up;  // tickets of waits that ended early

    GateState() { sharers.reserve(64); }

    void settle() {
        while (std::erase(given_up, serving) != 0) ++serving;
        closed = phase != Phase::open || serving != next_ticket;
        moved.notify_all();
    }
};

GateState& s = *new GateState;  // outlives every thread

thread_local std::size_t depth = 0;   // how deep this thread is inside contexts and compilations of all images
thread_local std::size_t closes = 0;  // how many times this thread has closed the gate
// Of the wait that this thread has interrupted to run other code, such as a signal handler.
thread_local std::optional<std::uint64_t> interrupted;

std::atomic<WhileWaiting> call_while_waiting{nullptr};

unsigned long this_thread() noexcept { return pthread_self(); }

[[noreturn]] void refuse(const values::ChangeKey& wanted, const char* why) {
    const char* where = wanted.image == s.changes.image ? "" : ", in another LLVM";
    throw GateError("cannot apply " + wanted.text + " process-wide: " + why + " (" + s.changes.text + where + ")");
}

// Runs what was given to `while_waiting`, without the lock.
void call_out(os::ForkSafeLock& lock, std::uint64_t ticket) {
    const WhileWaiting call = call_while_waiting.load();
    if (call == nullptr) return;
    const std::vector<unsigned long> closers = s.sharers;
    lock.unlock();
    const std::optional<std::uint64_t> outer = std::exchange(interrupted, ticket);
    try {
        call(closers);
    } catch (...) {
        interrupted = outer;
        lock.lock();
        throw;
    }
    interrupted = outer;
    lock.lock();
}

// Waits until the ticket is served and `ready()`, which is called with the lock held.
template <class Ready>
void wait_for(os::ForkSafeLock& lock, std::uint64_t ticket, const Ready& ready) {
    auto next_call = std::chrono::steady_clock::now() + patience;
    while (s.serving != ticket || !ready()) {
        s.moved.wait_for(lock, patience);
        const auto now = std::chrono::steady_clock::now();
        if (now < next_call) continue;
        call_out(lock, ticket);
        next_call = now + patience;
    }
}

// Waits in line until `ready()`, which is called with the lock held. Throws with this thread out of the line. Code that
// runs while the thread waits has the thread's place: behind it, it would wait for a wait that goes on after it.
template <class Ready>
void wait_in_line(os::ForkSafeLock& lock, const Ready& ready) {
    if (interrupted) return wait_for(lock, *interrupted, ready);
    s.given_up.reserve(s.given_up.size() + s.waiting + 1);
    ++s.waiting;
    const std::uint64_t ticket = s.next_ticket++;
    s.closed = true;
    try {
        wait_for(lock, ticket, ready);
    } catch (...) {
        --s.waiting;
        s.given_up.push_back(ticket);
        s.settle();
        throw;
    }
    --s.waiting;
    ++s.serving;
}

}  // namespace

void while_waiting(WhileWaiting call) noexcept { call_while_waiting = call; }

bool try_enter() noexcept {
    if (depth > 0) {
        ++depth;
        return true;
    }
    s.inside.fetch_add(1);
    if (!s.closed.load() || closes > 0) {
        depth = 1;
        return true;
    }
    s.inside.fetch_sub(1);
    const std::lock_guard lock(s.mutex);
    s.moved.notify_all();  // a closer may have counted this thread
    return false;
}

void enter() {
    if (try_enter()) return;
    os::ForkSafeLock lock(s.mutex);
    wait_in_line(lock, [] { return s.phase == Phase::open; });
    s.inside.fetch_add(1);
    depth = 1;
    s.settle();
}

void leave() noexcept {
    if (--depth > 0) return;
    s.inside.fetch_sub(1);
    if (!s.closed.load()) return;
    const std::lock_guard lock(s.mutex);
    s.moved.notify_all();
}

bool close(const values::ChangeKey& changes) {
    os::ForkSafeLock lock(s.mutex);
    if (closes > 0) {
        if (s.changes != changes) refuse(changes, "this thread is inside a context with other process-wide values");
        ++closes;
        return false;
    }
    if (depth > 0 && s.waiting_closers > 0)
        refuse(changes, "another thread waits for this one to leave its context before it changes options");
    s.sharers.reserve(s.sharers.size() + s.waiting_closers + 1);
    ++s.waiting_closers;
    const std::size_t own = depth > 0 ? 1 : 0;
    try {
        wait_in_line(lock, [&] {
            if (s.phase == Phase::in_force) return s.changes == changes;
            return s.phase == Phase::open && s.inside.load() == own;
        });
    } catch (...) {
        --s.waiting_closers;
        throw;
    }
    --s.waiting_closers;
    closes = 1;
    s.sharers.push_back(this_thread());
    const bool first = s.phase == Phase::open;
    if (first) {
        s.phase = Phase::changing;
        s.changes = changes;
    }
    s.settle();
    return first;
}

bool try_share(const values::ChangeKey& changes) noexcept {
    const std::lock_guard lock(s.mutex);
    if (s.phase != Phase::in_force || s.changes != changes) return false;
    if (closes == 0) {
        if (s.sharers.size() + s.waiting_closers >= s.sharers.capacity()) return false;  // no room without allocating
        s.sharers.push_back(this_thread());
    }
    ++closes;
    return true;
}

void changed(bool done) {
    const std::lock_guard lock(s.mutex);
    s.phase = done ? Phase::in_force : Phase::open;
    if (!done) {
        closes = 0;
        s.sharers.clear();
        s.changes = {};
    }
    s.settle();
}

bool last_out() {
    const std::lock_guard lock(s.mutex);
    if (--closes > 0) return false;
    std::erase(s.sharers, this_thread());
    if (!s.sharers.empty()) return false;
    s.phase = Phase::undoing;
    return true;
}

void open() {
    const std::lock_guard lock(s.mutex);
    s.phase = Phase::open;
    s.changes = {};
    s.settle();
}

std::size_t threads_inside() noexcept { return s.inside.load(); }
bool is_closed() noexcept { return s.closed.load(); }

std::optional<unsigned> only_this_thread_lives() {
    const std::lock_guard lock(s.mutex);
    s.inside = depth > 0 ? 1 : 0;
    std::erase_if(s.sharers, [](unsigned long thread) { return closes == 0 || thread != this_thread(); });
    s.waiting = s.waiting_closers = 0;
    s.given_up.clear();
    s.serving = s.next_ticket;
    s.settle();
    if (s.phase == Phase::open || closes > 0) return std::nullopt;
    return s.changes.image;
}

}  // namespace optctx::engines::gate

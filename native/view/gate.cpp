#include "view/gate.hpp"

#include "os/fork_locks.hpp"

#include <atomic>
#include <cstdint>

namespace optctx::view::gate {
namespace {

enum class Phase { open, changing, in_force, undoing };

struct GateState {
    std::atomic<std::size_t> inside{0};  // threads
    std::atomic<bool> closed{false};     // a thread waits, or the phase is not `open`
    os::ForkSafeMutex mutex{os::Rank::gate};
    os::ForkSafeCondition moved;
    Phase phase = Phase::open;
    Key changes{};            // the changes in force, or being made
    std::size_t sharers = 0;  // threads that have closed the gate
    std::size_t waiting_closers = 0;
    std::uint64_t next_ticket = 0;
    std::uint64_t serving = 0;

    void settle() {
        closed = phase != Phase::open || serving != next_ticket;
        moved.notify_all();
    }
};

GateState& s = *new GateState;  // outlives every thread

thread_local std::size_t depth = 0;   // how deep this thread is inside contexts and compilations of all images
thread_local std::size_t closes = 0;  // how many times this thread has closed the gate

[[noreturn]] void refuse(const Key& wanted, const char* why) {
    const char* where = wanted.image == s.changes.image ? "" : ", in another LLVM";
    throw GateError("cannot apply " + wanted.text + " process-wide: " + why + " (" + s.changes.text + where + ")");
}

}  // namespace

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
    const std::uint64_t ticket = s.next_ticket++;
    s.closed = true;
    s.moved.wait(lock, [&] { return s.serving == ticket && s.phase == Phase::open; });
    s.inside.fetch_add(1);
    depth = 1;
    ++s.serving;
    s.settle();
}

void leave() noexcept {
    if (--depth > 0) return;
    s.inside.fetch_sub(1);
    if (!s.closed.load()) return;
    const std::lock_guard lock(s.mutex);
    s.moved.notify_all();
}

bool close(const Key& changes) {
    os::ForkSafeLock lock(s.mutex);
    if (closes > 0) {
        if (s.changes != changes) refuse(changes, "this thread is inside a context with other process-wide values");
        ++closes;
        return false;
    }
    if (depth > 0 && s.waiting_closers > 0)
        refuse(changes, "another thread waits for this one to leave its context before it changes options");
    const std::uint64_t ticket = s.next_ticket++;
    ++s.waiting_closers;
    s.closed = true;
    const std::size_t own = depth > 0 ? 1 : 0;
    s.moved.wait(lock, [&] {
        if (s.serving != ticket) return false;
        if (s.phase == Phase::in_force) return s.changes == changes;
        return s.phase == Phase::open && s.inside.load() == own;
    });
    ++s.serving;
    --s.waiting_closers;
    closes = 1;
    ++s.sharers;
    const bool first = s.phase == Phase::open;
    if (first) {
        s.phase = Phase::changing;
        s.changes = changes;
    }
    s.settle();
    return first;
}

bool try_share(const Key& changes) noexcept {
    const std::lock_guard lock(s.mutex);
    if (s.phase != Phase::in_force || s.changes != changes) return false;
    if (closes++ == 0) ++s.sharers;
    return true;
}

void changed(bool done) {
    const std::lock_guard lock(s.mutex);
    s.phase = done ? Phase::in_force : Phase::open;
    if (!done) {
        closes = 0;
        s.sharers = 0;
        s.changes = {};
    }
    s.settle();
}

bool last_out() {
    const std::lock_guard lock(s.mutex);
    if (--closes > 0 || --s.sharers > 0) return false;
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
    s.sharers = closes > 0 ? 1 : 0;
    s.waiting_closers = 0;
    s.serving = s.next_ticket;
    s.settle();
    if (s.phase == Phase::open || closes > 0) return std::nullopt;
    return s.changes.image;
}

}  // namespace optctx::view::gate

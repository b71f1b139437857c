#include "scopes/gate.hpp"

#include "os/fork_locks.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

namespace optctx::scopes::gate {
namespace {

enum class Phase { open, changing, in_force, undoing };

// A thread that waits. Code that runs while it waits, such as a signal handler, waits in its place: behind it, that
// code would wait for a wait that goes on after it.
struct Waiting {
    unsigned long thread;
    std::size_t closing;  // how many of these waits are to close the gate
};

struct GateState {
    std::atomic<std::size_t> inside{0};  // threads
    std::atomic<bool> closed{false};     // a thread waits, or the phase is not `open`
    os::ForkSafeMutex mutex{os::Rank::gate};
    os::ForkSafeCondition moved;
    Phase phase = Phase::open;
    values::ChangeKey changes{};         // the changes in force, or being made
    std::vector<unsigned long> sharers;  // threads that have closed the gate
    std::vector<Waiting> line;           // first come, first served

    void settle() {
        closed = phase != Phase::open || !line.empty();
        moved.notify_all();
    }
};

GateState& s = *new GateState;  // outlives every thread

thread_local std::size_t depth = 0;   // how deep this thread is inside contexts and compilations of all images
thread_local std::size_t closes = 0;  // how many times this thread has closed the gate

std::atomic<WhileWaiting> called_while_waiting{nullptr};

unsigned long this_thread() noexcept { return pthread_self(); }

[[noreturn]] void refuse(const values::ChangeKey& wanted, const char* why) {
    const char* where = wanted.image == s.changes.image ? "" : ", in another LLVM";
    throw GateError("cannot apply " + wanted.text + " process-wide: " + why + " (" + s.changes.text + where + ")");
}

// Runs what was given to `while_waiting`, without the lock.
void call_out(os::ForkSafeLock& lock) {
    const std::vector<unsigned long> closers = s.sharers;
    lock.unlock();
    try {
        call_while_waiting(closers);
    } catch (...) {
        lock.lock();
        throw;
    }
    lock.lock();
}

std::vector<Waiting>::iterator own_place() {
    return std::find_if(s.line.begin(), s.line.end(), [](const Waiting& each) { return each.thread == this_thread(); });
}

// Waits in line until `ready()`, which is called with the lock held. Code that runs meanwhile may stay inside, or leave
// what this thread was inside of. Afterwards, also if it throws, this wait is no longer in the line; the caller settles
// the gate.
template <class Ready>
void wait_in_line(os::ForkSafeLock& lock, std::size_t closing, const Ready& ready) {
    const bool has_place = own_place() != s.line.end();
    if (!has_place) s.line.push_back({this_thread(), 0});
    own_place()->closing += closing;
    s.closed = true;
    const auto leave_line = [&] {
        own_place()->closing -= closing;
        if (!has_place) s.line.erase(own_place());
    };
    try {
        auto next_call = std::chrono::steady_clock::now() + patience;
        while (s.line.front().thread != this_thread() || !ready()) {
            s.moved.wait_for(lock, patience);
            const auto now = std::chrono::steady_clock::now();
            if (now < next_call) continue;
            call_out(lock);
            next_call = now + patience;
        }
    } catch (...) {
        leave_line();
        s.settle();
        throw;
    }
    leave_line();
}

}  // namespace

void while_waiting(WhileWaiting call) noexcept { called_while_waiting = call; }

void call_while_waiting(const std::vector<unsigned long>& closers) {
    if (const WhileWaiting call = called_while_waiting.load()) call(closers);
}

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
    wait_in_line(lock, 0, [] { return s.phase == Phase::open || closes > 0; });
    if (depth++ == 0) s.inside.fetch_add(1);
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
    const auto check_closes = [&] {
        if (closes > 0 && s.changes != changes)
            refuse(changes, "this thread is inside a context with other process-wide values");
    };
    check_closes();
    if (depth > 0 && std::any_of(s.line.begin(), s.line.end(), [](const Waiting& each) { return each.closing > 0; }))
        refuse(changes, "another thread waits for this one to leave its context before it changes options");
    wait_in_line(lock, 1, [&] {
        check_closes();
        s.sharers.reserve(s.sharers.size() + 1);  // what follows cannot fail
        if (s.phase == Phase::in_force) return s.changes == changes;
        return s.phase == Phase::open && s.inside.load() == (depth > 0 ? 1 : 0);
    });
    if (closes++ == 0) s.sharers.push_back(this_thread());
    const bool first = s.phase == Phase::open;
    if (first) {
        s.phase = Phase::changing;
        s.changes = changes;
    }
    s.settle();
    return first;
}

bool try_share(const values::ChangeKey& changes, bool ahead) {
    const std::lock_guard lock(s.mutex);
    if (s.phase != Phase::in_force || s.changes != changes) return false;
    if (closes == 0) {
        if (!ahead && !s.line.empty()) return false;
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
    // This thread still waits if it is a signal handler that has forked.
    std::erase_if(s.line, [](const Waiting& each) { return each.thread != this_thread(); });
    s.settle();
    if (s.phase == Phase::open || closes > 0) return std::nullopt;
    return s.changes.image;
}

}  // namespace optctx::scopes::gate

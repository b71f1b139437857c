#include "os/keyed_locks.hpp"

#include "os/fork_locks.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

namespace optctx::os {
namespace {

// How long a thread waits before it checks for signals.
constexpr std::chrono::milliseconds patience{50};

struct Held {
    std::thread::id holder;
    std::size_t depth;
};

// Outlives every thread. The mutex is held for nanoseconds, and never while a thread waits.
struct Table {
    os::ForkSafeMutex mutex{os::Rank::keys};
    os::ForkSafeCondition released;
    std::map<std::uintptr_t, Held> held;
};

Table* const table = new Table;

// Call with the mutex held.
bool take(std::uintptr_t key) {
    const auto [at, is_new] = table->held.try_emplace(key, Held{std::this_thread::get_id(), 1});
    if (is_new) return true;
    if (at->second.holder != std::this_thread::get_id()) return false;
    ++at->second.depth;
    return true;
}

bool take_now(std::uintptr_t key) {
    const std::lock_guard guard(table->mutex);
    return take(key);
}

void take_waiting(std::uintptr_t key, const Waiting& waiting) {
    bool taken = take_now(key);
    while (!taken) {
        waiting.wait([&] {
            os::ForkSafeLock guard(table->mutex);
            taken = take(key);
            if (taken) return;
            table->released.wait_for(guard, patience);
            taken = take(key);
        });
        if (!taken) waiting.interrupted();
    }
}

// Only this thread survives in the child of a fork.
void release_others() noexcept {
    std::erase_if(table->held, [](const auto& entry) { return entry.second.holder != std::this_thread::get_id(); });
}

[[maybe_unused]] const bool watches_forks = os::repair_after_fork(release_others);

}  // namespace

Keys in_order(Keys keys) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
}

void lock(const Keys& keys, const Waiting& waiting) {
    Keys taken;
    taken.reserve(keys.size());
    try {
        for (const std::uintptr_t key : keys) {
            take_waiting(key, waiting);
            taken.push_back(key);
        }
    } catch (...) {
        unlock(taken);
        throw;
    }
}

void unlock(const Keys& keys) noexcept {
    const std::lock_guard guard(table->mutex);
    for (const std::uintptr_t key : keys) {
        const auto at = table->held.find(key);
        if (--at->second.depth == 0) table->held.erase(at);
    }
    table->released.notify_all();
}

std::size_t locked() noexcept {
    const std::lock_guard guard(table->mutex);
    return table->held.size();
}

}  // namespace optctx::os

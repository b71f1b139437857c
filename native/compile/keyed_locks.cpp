#include "compile/keyed_locks.hpp"

#include "os/os.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace optctx::compile {
namespace {

// How long a thread waits before it looks for signals.
constexpr std::chrono::milliseconds patience{50};

struct Held {
    std::thread::id holder;
    std::size_t depth;
};

// Outlives every thread. The mutex is held for some nanoseconds at a time, never while a thread waits.
struct Table {
    std::mutex mutex;
    std::condition_variable released;
    std::map<std::uintptr_t, Held> held;
};

Table* table = new Table;

// With the mutex held.
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
            std::unique_lock guard(table->mutex);
            taken = take(key);
            if (taken) return;
            table->released.wait_for(guard, patience);
            taken = take(key);
        });
        if (!taken) waiting.interrupted();
    }
}

void before_fork() { table->mutex.lock(); }
void after_fork_in_parent() { table->mutex.unlock(); }

void after_fork_in_child() {
    Table* before = table;  // threads that are gone may be waiting for its condition: left behind
    table = new Table;
    for (const auto& [key, held] : before->held)
        if (held.holder == std::this_thread::get_id()) table->held.emplace(key, held);
}

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

void watch_forks() {
    static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    if (registered != 0) throw os::OsError("pthread_atfork", 0, registered);
}

}  // namespace optctx::compile

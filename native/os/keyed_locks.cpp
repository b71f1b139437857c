#include "os/keyed_locks.hpp"

#include "os/fork_locks.hpp"
#include "os/os.hpp"

#include <algorithm>
#include <atomic>
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
    ForkSafeMutex mutex{Rank::keys};
    std::map<std::uintptr_t, Held> held;
    // A std::condition_variable would wait for the threads that wait for it, which the child of a fork does not have.
    std::atomic<std::uint32_t> times_released{0};
};

Table* const table = new Table;

bool take(std::uintptr_t key) {
    const std::lock_guard guard(table->mutex);
    const auto [at, is_new] = table->held.try_emplace(key, Held{std::this_thread::get_id(), 1});
    if (is_new) return true;
    if (at->second.holder != std::this_thread::get_id()) return false;
    ++at->second.depth;
    return true;
}

void take_waiting(std::uintptr_t key, const Waiting& waiting) {
    for (;;) {
        const std::uint32_t seen = table->times_released.load();
        bool taken = take(key);
        if (taken) return;
        waiting.wait([&] {
            sleep_while(table->times_released, seen, patience);
            taken = take(key);
        });
        if (taken) return;
        waiting.interrupted();
    }
}

// Only this thread survives in the child of a fork.
void release_others() noexcept {
    std::erase_if(table->held, [](const auto& entry) { return entry.second.holder != std::this_thread::get_id(); });
}

[[maybe_unused]] const bool watches_forks = repair_after_fork(release_others);

}  // namespace

Locked::Locked(std::vector<std::uintptr_t> keys, const Waiting& waiting) : Locked() {  // from here on, ~Locked runs
    std::ranges::sort(keys);
    taken_.reserve(keys.size());
    for (const std::uintptr_t key : keys) {
        take_waiting(key, waiting);
        taken_.push_back(key);
    }
}

Locked::~Locked() {
    const std::lock_guard guard(table->mutex);
    for (const std::uintptr_t key : taken_) {
        const auto at = table->held.find(key);
        if (--at->second.depth == 0) table->held.erase(at);
    }
    ++table->times_released;
    wake_all(table->times_released);
}

std::size_t locked() noexcept {
    const std::lock_guard guard(table->mutex);
    return table->held.size();
}

}  // namespace optctx::os

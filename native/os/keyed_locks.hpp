// Reentrant locks by address. An entry exists only while a thread holds the lock.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace optctx::os {

using Keys = std::vector<std::uintptr_t>;  // addresses in this process, ascending, unique

// Sorts the keys and removes duplicates. Threads that take locks in this order cannot deadlock.
Keys in_order(Keys keys);

// Takes all locks for this thread, or throws what `interrupted` throws with none taken. A thread that must wait passes
// the wait itself to `wait`, which can release what other threads may need around it. It calls `interrupted` between
// waits.
struct Waiting {
    std::function<void(const std::function<void()>&)> wait;
    std::function<void()> interrupted;
};
void lock(const Keys& keys, const Waiting& waiting);
void unlock(const Keys& keys) noexcept;
// The number of locks held by any thread. In the child of a fork, only those of the forking thread count.
std::size_t locked() noexcept;

}  // namespace optctx::os

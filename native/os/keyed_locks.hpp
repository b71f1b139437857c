// Reentrant locks by address. An entry exists only while a thread holds the lock.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace optctx::os {

// A thread that must wait passes the wait itself to `wait`, which can release what other threads may need around it. It
// calls `interrupted` between waits.
struct Waiting {
    std::function<void(const std::function<void()>&)> wait;
    std::function<void()> interrupted;
};

// While it lives, this thread has the locks of these addresses. It takes them in one order, so threads cannot deadlock.
class Locked {
public:
    // Throws what `interrupted` throws, with none taken.
    Locked(std::vector<std::uintptr_t> keys, const Waiting& waiting);
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    ~Locked();

private:
    Locked() = default;

    std::vector<std::uintptr_t> taken_;
};
// The number of locks held by any thread. In the child of a fork, only those of the forking thread count.
std::size_t locked() noexcept;

}  // namespace optctx::os

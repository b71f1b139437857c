// Reentrant locks by address. An entry lives only while a thread holds it or waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace optctx::compile {

using Keys = std::vector<std::uintptr_t>;  // addresses in this process, ascending, each once

// Sorted, so that two threads that want the same locks cannot block each other.
Keys in_order(Keys keys);

// Takes all of them for this thread, or throws what `interrupted` throws with none taken. A thread that has to wait
// calls `wait` with the work of waiting, to give up what others may need, and `interrupted` now and then.
struct Waiting {
    std::function<void(const std::function<void()>&)> wait;
    std::function<void()> interrupted;
};
void lock(const Keys& keys, const Waiting& waiting);
void unlock(const Keys& keys) noexcept;
// Held by any thread. In a child of fork only those of the thread that forked are.
std::size_t locked() noexcept;

}  // namespace optctx::compile

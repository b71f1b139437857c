#include "contexts/set_inside.hpp"

#include "os/fork_locks.hpp"

#include <atomic>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace optctx::contexts {
namespace {

struct All {
    os::ForkSafeMutex mutex{os::Rank::inside};
    std::unordered_map<const void*, SetInside> by_mark;  // without a context: room only
    std::atomic<std::size_t> count{0};                   // of by_mark: most programs set nothing inside
};
auto& all = *new All;  // outlives every thread

}  // namespace

static_assert(std::is_nothrow_move_constructible_v<SetInside> && std::is_nothrow_move_assignable_v<SetInside>);

void make_room_for_set_inside(const void* mark) {
    const std::lock_guard lock(all.mutex);
    all.by_mark.try_emplace(mark);
    all.count = all.by_mark.size();
}

void keep_set_inside(const void* mark, SetInside values) noexcept {
    SetInside before;  // destroyed after the lock is released
    const std::lock_guard lock(all.mutex);
    const auto kept = all.by_mark.find(mark);
    if (kept != all.by_mark.end()) before = std::exchange(kept->second, std::move(values));
}

void forget_set_inside(const void* mark) noexcept {
    if (all.count.load(std::memory_order_relaxed) == 0) return;
    std::unordered_map<const void*, SetInside>::node_type last;
    const std::lock_guard lock(all.mutex);
    last = all.by_mark.extract(mark);
    all.count = all.by_mark.size();
}

std::optional<SetInside> set_inside(const void* mark) {
    if (mark == nullptr || all.count.load(std::memory_order_relaxed) == 0) return std::nullopt;
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_mark.find(mark);
    if (found == all.by_mark.end() || found->second.context == nullptr) return std::nullopt;
    return found->second;
}

}  // namespace optctx::contexts

#include "view/set_inside.hpp"

#include "os/fork_locks.hpp"

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace optctx::view {
namespace {

struct All {
    os::ForkSafeMutex mutex{os::Rank::inside};
    std::unordered_map<const void*, SetInside> by_mark;
    std::atomic<std::size_t> count{0};  // of by_mark: most programs set nothing inside
};
auto& all = *new All;  // outlives every thread

}  // namespace

void keep_set_inside(const void* mark, SetInside values) {
    SetInside before;  // destroyed after the lock is released
    const std::lock_guard lock(all.mutex);
    SetInside& kept = all.by_mark[mark];
    before = std::exchange(kept, std::move(values));
    all.count = all.by_mark.size();
}

void forget_set_inside(const void* mark) noexcept {
    if (all.count.load(std::memory_order_relaxed) == 0) return;
    std::unordered_map<const void*, SetInside>::node_type last;
    const std::lock_guard lock(all.mutex);
    last = all.by_mark.extract(mark);
    all.count = all.by_mark.size();
}

void forget_set_inside_unless(bool (*stays)(const void* mark)) noexcept {
    const std::lock_guard lock(all.mutex);
    std::erase_if(all.by_mark, [stays](const auto& each) { return !stays(each.first); });
    all.count = all.by_mark.size();
}

std::optional<SetInside> set_inside(const void* mark) {
    if (mark == nullptr || all.count.load(std::memory_order_relaxed) == 0) return std::nullopt;
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_mark.find(mark);
    if (found == all.by_mark.end()) return std::nullopt;
    return found->second;
}

}  // namespace optctx::view

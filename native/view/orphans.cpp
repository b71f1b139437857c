#include "view/orphans.hpp"

#include <atomic>
#include <mutex>
#include <utility>

namespace optctx::view {
namespace {

std::mutex orphan_mutex;
std::atomic<bool> orphaned{false};

std::vector<void*>& orphans() {
    static auto* list = new std::vector<void*>;  // outlives every thread
    return *list;
}

}  // namespace

void add_orphan(void* reference) noexcept {
    const std::lock_guard lock(orphan_mutex);
    orphaned = true;
    orphans().push_back(reference);
}

std::vector<void*> take_orphans() {
    if (!orphaned.load(std::memory_order_relaxed)) return {};
    const std::lock_guard lock(orphan_mutex);
    orphaned = false;
    return std::exchange(orphans(), {});
}

}  // namespace optctx::view

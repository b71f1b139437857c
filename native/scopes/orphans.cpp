#include "scopes/orphans.hpp"

#include "os/fork_locks.hpp"

#include <atomic>
#include <mutex>
#include <utility>

namespace optctx::scopes {
namespace {

// The mutex and the list outlive every thread.
auto& orphan_mutex = *new os::ForkSafeMutex(os::Rank::orphans);
auto& orphans = *new std::vector<void*>;
std::atomic<bool> orphaned{false};

}  // namespace

void add_orphan(void* reference) noexcept {
    const std::lock_guard lock(orphan_mutex);
    orphaned = true;
    orphans.push_back(reference);
}

std::vector<void*> take_orphans() {
    if (!orphaned.load(std::memory_order_relaxed)) return {};
    const std::lock_guard lock(orphan_mutex);
    orphaned = false;
    return std::exchange(orphans, {});
}

}  // namespace optctx::scopes

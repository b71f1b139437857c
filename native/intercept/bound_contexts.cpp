#include "intercept/bound_contexts.hpp"

#include "os/fork_locks.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace optctx::bind {
namespace {

// Sharded, so that threads that look up different LLVMContexts rarely contend for a lock.
struct Shard {
    os::ForkSafeMutex mutex{os::Rank::bindings};
    std::unordered_map<const void*, std::shared_ptr<const Binding>> bindings;
};

constexpr std::size_t shard_count = 64;

struct Table {
    std::array<Shard, shard_count> shards;
    std::atomic<std::size_t> count{0};

    Shard& shard(const void* llvm_context) {
        const auto address = reinterpret_cast<std::uintptr_t>(llvm_context);
        return shards[(address >> 4 ^ address >> 10) % shard_count];
    }
};

auto& tables = *new views::PerImage<Table>;  // outlives every thread

bool add(Table& table, const void* llvm_context, const std::shared_ptr<const Binding>& binding) {
    Shard& here = table.shard(llvm_context);
    const std::lock_guard lock(here.mutex);
    const bool added = here.bindings.emplace(llvm_context, binding).second;
    if (added) table.count.fetch_add(1);
    return added;
}

std::shared_ptr<const Binding> remove(Table& table, const void* llvm_context) noexcept {
    Shard& here = table.shard(llvm_context);
    const std::lock_guard lock(here.mutex);
    auto node = here.bindings.extract(llvm_context);
    if (node.empty()) return nullptr;
    table.count.fetch_sub(1);
    return std::move(node.mapped());
}

}  // namespace

bool bind(const void* llvm_context, std::shared_ptr<const Binding> binding) {
    binding->context->hold();
    if (add(tables[binding->context->space().image()], llvm_context, binding)) return true;
    binding->context->let_go();
    return false;
}

std::shared_ptr<const Binding> unbind(unsigned image, const void* llvm_context) noexcept {
    if (tables[image].count.load() == 0) return nullptr;
    std::shared_ptr<const Binding> removed = remove(tables[image], llvm_context);
    if (removed != nullptr) removed->context->let_go();
    return removed;
}

std::shared_ptr<const Binding> bound(unsigned image, const void* llvm_context) noexcept {
    Table& table = tables[image];
    if (table.count.load(std::memory_order_relaxed) == 0) return nullptr;
    Shard& here = table.shard(llvm_context);
    const std::lock_guard lock(here.mutex);
    const auto found = here.bindings.find(llvm_context);
    return found == here.bindings.end() ? nullptr : found->second;
}

std::size_t bound_count(unsigned image) noexcept { return tables[image].count.load(); }

}  // namespace optctx::bind

#include "intercept/bound_contexts.hpp"

#include "os/fork_locks.hpp"
#include "os/os.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace optctx::bind {
namespace {

struct Table {
    os::ForkSafeMutex mutex{os::Rank::bindings};
    std::unordered_map<const void*, std::shared_ptr<const Binding>> bindings;
    std::atomic<std::size_t> count{0};
};

auto& tables = *new views::PerImage<Table>;  // outlives every thread

bool add(Table& table, const void* llvm_context, const std::shared_ptr<const Binding>& binding) {
    const std::lock_guard lock(table.mutex);
    const bool added = table.bindings.emplace(llvm_context, binding).second;
    if (added) table.count.fetch_add(1);
    return added;
}

std::shared_ptr<const Binding> remove(Table& table, const void* llvm_context) noexcept {
    const std::lock_guard lock(table.mutex);
    auto node = table.bindings.extract(llvm_context);
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

void unbind_by_contents(unsigned image, const void* contents) noexcept {
    Table& table = tables[image];
    if (table.count.load() == 0) return;
    const void* owner = nullptr;
    {
        const std::lock_guard lock(table.mutex);
        const auto leads_there = [contents](const auto& each) {
            const void* first = nullptr;  // of a bound one that has ended unseen, nothing may be left
            const auto at = reinterpret_cast<std::uintptr_t>(each.first);
            return os::read_checked(at, &first, sizeof first) && first == contents;
        };
        const auto found = std::find_if(table.bindings.begin(), table.bindings.end(), leads_there);
        if (found != table.bindings.end()) owner = found->first;
    }
    if (owner != nullptr) unbind(image, owner);
}

std::shared_ptr<const Binding> bound(unsigned image, const void* llvm_context) noexcept {
    Table& table = tables[image];
    if (table.count.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard lock(table.mutex);
    const auto found = table.bindings.find(llvm_context);
    return found == table.bindings.end() ? nullptr : found->second;
}

std::size_t bound_count(unsigned image) noexcept { return tables[image].count.load(); }

}  // namespace optctx::bind

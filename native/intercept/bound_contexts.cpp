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

}  // namespace

bool bind(const void* llvm_context, std::shared_ptr<const Binding> binding) {
    Table& table = tables[binding->context->space().image()];
    binding->context->hold();
    {
        const std::lock_guard lock(table.mutex);
        if (table.bindings.emplace(llvm_context, binding).second) {
            table.count.fetch_add(1);
            return true;
        }
    }
    binding->context->let_go();
    return false;
}

std::shared_ptr<const Binding> unbind(unsigned image, const void* llvm_context) noexcept {
    Table& table = tables[image];
    if (table.count.load() == 0) return nullptr;
    decltype(table.bindings)::node_type removed;
    {
        const std::lock_guard lock(table.mutex);
        removed = table.bindings.extract(llvm_context);
        if (removed.empty()) return nullptr;
        table.count.fetch_sub(1);
    }
    removed.mapped()->context->let_go();
    return std::move(removed.mapped());
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

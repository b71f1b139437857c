#include "intercept/machine_pool.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace optctx::machine {

// Call with the lock held.
std::vector<void*> Pool::take_all(const void* machine) {
    std::vector<void*> variants;
    idle_.remove_if([&](const Idle& each) {
        if (each.machine == machine) variants.push_back(each.variant);
        return each.machine == machine;
    });
    return variants;
}

std::vector<void*> Pool::add(const void* machine, const std::string& key, std::shared_ptr<const Options> options) {
    Known known{key, std::move(options), std::nullopt, std::nullopt};
    const std::lock_guard lock(mutex_);
    auto [at, is_new] = known_.try_emplace(machine);
    std::swap(at->second, known);
    return is_new ? std::vector<void*>() : take_all(machine);
}

std::vector<void*> Pool::remove(const void* machine) noexcept {
    decltype(known_)::node_type node;  // destroyed after the lock is released, because its destructor calls LLVM
    const std::lock_guard lock(mutex_);
    node = known_.extract(machine);
    if (node.empty()) return {};
    return take_all(machine);
}

std::vector<void*> Pool::clear() noexcept {
    std::vector<void*> variants;
    decltype(known_) known;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    for (const Idle& each : idle_) variants.push_back(each.variant);
    idle_.clear();
    known.swap(known_);
    return variants;
}

bool Pool::made_in(const void* machine, const std::string& key) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(machine);
    return found == known_.end() ? key == outside : found->second.key == key;
}

void Pool::forget_where(const void* machine) {
    const std::lock_guard lock(mutex_);
    known_.try_emplace(machine).first->second.key.reset();
}

std::pair<std::shared_ptr<const Options>, std::optional<bool>> Pool::how_made(const void* machine) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(machine);
    if (found == known_.end()) return {};
    return {found->second.options, found->second.jit};
}

void Pool::remember(const void* machine, std::shared_ptr<const Options> options, bool jit) {
    // Declared before the lock: what another thread remembered is freed, by a call of LLVM, with the lock released.
    std::shared_ptr<const Options> former;
    const std::lock_guard lock(mutex_);
    auto [at, is_new] = known_.try_emplace(machine);
    former = std::exchange(at->second.options, std::move(options));
    at->second.jit = jit;
}

std::int32_t Pool::level(const void* machine, std::int32_t now) {
    const std::lock_guard lock(mutex_);
    Known& known = known_.try_emplace(machine).first->second;
    if (!known.level) known.level = now;
    return *known.level;
}

void* Pool::take(const void* machine, const std::string& key) noexcept {
    const std::lock_guard lock(mutex_);
    // The newest are at the end, and a context is usually re-entered soon.
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                    [&](const Idle& idle) { return idle.machine == machine && idle.key == key; });
    if (found == idle_.rend()) return nullptr;
    void* variant = found->variant;
    idle_.erase(std::next(found).base());
    return variant;
}

void* Pool::give(const void* machine, const std::string& key, void* variant) {
    std::list<Idle> node;
    node.push_back({machine, key, variant});
    const std::lock_guard lock(mutex_);
    if (!known_.contains(machine)) return variant;  // the machine has ended
    idle_.splice(idle_.end(), node);
    if (idle_.size() <= capacity_) return nullptr;
    void* oldest = idle_.front().variant;
    idle_.pop_front();
    return oldest;
}

std::size_t Pool::idle() {
    const std::lock_guard lock(mutex_);
    return idle_.size();
}

}  // namespace optctx::machine

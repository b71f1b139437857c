#include "intercept/machine_table.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace optctx::machine {

// Call the next two with the lock held.
bool Table::made_in(const void* machine, const Values& values) const noexcept {
    const auto found = known_.find(machine);
    if (found == known_.end()) return values.key.empty();
    const auto& made = found->second.values;
    return made && made->key == values.key && (made->entry == 0 || made->entry == values.entry);
}

std::vector<void*> Table::take_all(const void* machine) {
    std::vector<void*> variants;
    idle_.remove_if([&](const Idle& each) {
        if (each.machine == machine) variants.push_back(each.variant);
        return each.machine == machine;
    });
    return variants;
}

std::vector<void*> Table::add(const void* machine, const Values& values, Made made, const void* like) {
    Known known{values, std::move(made)};
    const std::lock_guard lock(mutex_);
    if (like != nullptr && !made_in(like, values)) known.values.reset();
    std::swap(known_[machine], known);  // what was known is destroyed after the lock is released: that calls LLVM
    return take_all(machine);
}

std::vector<void*> Table::remove(const void* machine) noexcept {
    decltype(known_)::node_type node;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    node = known_.extract(machine);
    if (node.empty()) return {};
    return take_all(machine);
}

std::vector<void*> Table::clear() noexcept {
    std::vector<void*> variants;
    decltype(known_) known;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    for (const Idle& each : idle_) variants.push_back(each.variant);
    idle_.clear();
    known.swap(known_);
    return variants;
}

void Table::spoil(const void* machine) noexcept {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(machine); found != known_.end()) found->second.values.reset();
}

void Table::settle(const void* machine) noexcept {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(machine); found != known_.end() && found->second.values)
        found->second.values->entry = 0;
}

Made Table::learn(const void* machine, const Made& found) {
    const std::lock_guard lock(mutex_);
    Made& made = known_[machine].made;
    if (!made.options) made.options = found.options;
    if (!made.level) made.level = found.level;
    if (!made.jit) made.jit = found.jit;
    return made;
}

void* Table::take(void* machine, const Values& values) noexcept {
    const std::lock_guard lock(mutex_);
    if (made_in(machine, values)) return machine;
    // The newest are at the end, and a context is usually re-entered soon.
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) {
        return idle.machine == machine && idle.key == values.key;
    });
    if (found == idle_.rend()) return nullptr;
    void* variant = found->variant;
    idle_.erase(std::next(found).base());
    return variant;
}

void* Table::give(const void* machine, const std::string& key, void* variant) {
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

std::size_t Table::idle() {
    const std::lock_guard lock(mutex_);
    return idle_.size();
}

}  // namespace optctx::machine

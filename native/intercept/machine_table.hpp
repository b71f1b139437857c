// What is known of each TargetMachine, and its idle variants.
#pragma once

#include "intercept/machine_copies.hpp"
#include "os/fork_locks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace optctx::machine {

// The values that a machine is made or used under, and the entry into a context that has them. LLVM writes to options
// while it makes machines for some targets, and a later entry does not see that.
struct Values {
    std::string key;          // contexts::Context::key, which is never empty; "": the process-wide values
    std::uint64_t entry = 0;  // contexts::Activation::entry; 0: the process, or any
};

// The caller disposes of machines, because LLVM must not be called with the lock held.
class Table {
public:
    // Adds a machine that begins, made under those values. `like`: null, or the machine whose options it has. Returns
    // the variants of an earlier machine at the same address.
    std::vector<void*> add(const void* machine, const Values& values, Made made, const void* like) {
        Known known{values, std::move(made)};
        const std::lock_guard lock(mutex_);
        if (like != nullptr && !made_in(like, values)) known.values.reset();
        std::swap(known_[machine], known);  // what was known is destroyed after the lock is released: that calls LLVM
        return take_all(machine);
    }
    // Removes a machine that ends. Returns its variants.
    std::vector<void*> remove(const void* machine) noexcept {
        decltype(known_)::node_type node;  // destroyed after the lock is released
        const std::lock_guard lock(mutex_);
        node = known_.extract(machine);
        return node.empty() ? std::vector<void*>{} : take_all(machine);
    }
    std::vector<void*> clear() noexcept {
        std::vector<void*> variants;
        decltype(known_) known;  // destroyed after the lock is released
        const std::lock_guard lock(mutex_);
        for (const Idle& each : idle_) variants.push_back(each.variant);
        idle_.clear();
        known.swap(known_);
        return variants;
    }
    // From now on the machine is not the one for any values.
    void spoil(const void* machine) noexcept {
        const std::lock_guard lock(mutex_);
        if (const auto found = known_.find(machine); found != known_.end()) found->second.values.reset();
    }
    // LLVM wrote to no option while the machine was made and first used: it is the one for its values in every entry.
    void settle(const void* machine) noexcept {
        const std::lock_guard lock(mutex_);
        if (const auto found = known_.find(machine); found != known_.end() && found->second.values)
            found->second.values->entry = 0;
    }

    // Returns how the machine was made, as far as that is known, `found` included.
    Made learn(const void* machine, const Made& found) {
        const std::lock_guard lock(mutex_);
        Made& made = known_[machine].made;
        if (!made.options) made.options = found.options;
        if (!made.level) made.level = found.level;
        if (!made.jit) made.jit = found.jit;
        return made;
    }
    // Returns the machine itself if it is the one for those values, or else an idle variant for them, or
    // null. A machine whose construction was not seen counts as made with the process-wide values.
    void* take(void* machine, const Values& values) noexcept {
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
    // Keeps a variant. Returns one to dispose of, or null.
    void* give(const void* machine, const std::string& key, void* variant) {
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
    std::size_t idle() {
        const std::lock_guard lock(mutex_);
        return idle_.size();
    }

private:
    struct Known {
        std::optional<Values> values = Values{};  // nullopt: made for no values
        Made made;
    };
    struct Idle {
        const void* machine;
        std::string key;
        void* variant;
    };
    static constexpr std::size_t capacity_ = 32;  // variants, up to a megabyte each

    // Call the next two with the lock held.
    bool made_in(const void* machine, const Values& values) const noexcept {
        const auto found = known_.find(machine);
        if (found == known_.end()) return values.key.empty();
        const auto& made = found->second.values;
        return made && made->key == values.key && (made->entry == 0 || made->entry == values.entry);
    }
    std::vector<void*> take_all(const void* machine) {
        std::vector<void*> variants;
        idle_.remove_if([&](const Idle& each) {
            if (each.machine == machine) variants.push_back(each.variant);
            return each.machine == machine;
        });
        return variants;
    }

    os::ForkSafeMutex mutex_{os::Rank::machines};
    std::unordered_map<const void*, Known> known_;
    std::list<Idle> idle_;  // oldest first
};

}  // namespace optctx::machine

// What is known of each TargetMachine, and its idle variants.
#pragma once

#include "intercept/machine_copies.hpp"
#include "os/fork_locks.hpp"

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace optctx::machine {

// Keys are context keys (contexts::Context::key), which are never empty. This key stands for the process-wide values.
inline const std::string outside;

// The caller disposes of machines, because LLVM must not be called with the lock held.
class Table {
public:
    // Adds a machine that begins, made under the values of that key. `like`: null, or the machine whose options it
    // has. Returns the variants of an earlier machine at the same address.
    std::vector<void*> add(const void* machine, const std::string& key, Made made, const void* like);
    // Removes a machine that ends. Returns its variants.
    std::vector<void*> remove(const void* machine) noexcept;
    std::vector<void*> clear() noexcept;
    // From now on the machine is not the one for any values.
    void spoil(const void* machine) noexcept;

    // Returns how the machine was made, as far as that is known, `found` included.
    Made learn(const void* machine, const Made& found);
    // Returns the machine itself if it is the one for the values of that key, or else an idle variant for them, or
    // null. A machine whose construction was not seen counts as made with the process-wide values.
    void* take(void* machine, const std::string& key) noexcept;
    // Keeps a variant. Returns one to dispose of, or null.
    void* give(const void* machine, const std::string& key, void* variant);
    std::size_t idle();

private:
    struct Known {
        std::optional<std::string> key = outside;  // nullopt: made for no values
        Made made;
    };
    struct Idle {
        const void* machine;
        std::string key;
        void* variant;
    };
    static constexpr std::size_t capacity_ = 32;  // variants, up to a megabyte each

    bool made_in(const void* machine, const std::string& key) const noexcept;
    std::vector<void*> take_all(const void* machine);

    os::ForkSafeMutex mutex_{os::Rank::machines};
    std::unordered_map<const void*, Known> known_;
    std::list<Idle> idle_;  // oldest first
};

}  // namespace optctx::machine

// What is known of each TargetMachine, and its idle variants.
#pragma once

#include "intercept/machine_copies.hpp"
#include "os/fork_locks.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
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
    // Adds a machine that begins, made under those values. `like`: null, or the machine whose options it
    // has. Returns the variants of an earlier machine at the same address.
    std::vector<void*> add(const void* machine, const Values& values, Made made, const void* like);
    // Removes a machine that ends. Returns its variants.
    std::vector<void*> remove(const void* machine) noexcept;
    std::vector<void*> clear() noexcept;
    // From now on the machine is not the one for any values.
    void spoil(const void* machine) noexcept;
    // LLVM wrote to no option while the machine was made and first used: it is the one for its values in every entry.
    void settle(const void* machine) noexcept;

    // Returns how the machine was made, as far as that is known, `found` included.
    Made learn(const void* machine, const Made& found);
    // Returns the machine itself if it is the one for those values, or else an idle variant for them, or
    // null. A machine whose construction was not seen counts as made with the process-wide values.
    void* take(void* machine, const Values& values) noexcept;
    // Keeps a variant. Returns one to dispose of, or null.
    void* give(const void* machine, const std::string& key, void* variant);
    std::size_t idle();

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

    bool made_in(const void* machine, const Values& values) const noexcept;
    std::vector<void*> take_all(const void* machine);

    os::ForkSafeMutex mutex_{os::Rank::machines};
    std::unordered_map<const void*, Known> known_;
    std::list<Idle> idle_;  // oldest first
};

}  // namespace optctx::machine

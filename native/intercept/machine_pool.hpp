// What is known of each TargetMachine, and its idle variants.
#pragma once

#include "intercept/machine_copies.hpp"
#include "os/fork_locks.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace optctx::machine {

// Keys are context keys (contexts::Context::key), which are never empty. This key stands for the process-wide values.
inline const std::string outside;

// The caller disposes of machines, because LLVM must not be called with the lock held.
class Pool {
public:
    // Adds a machine that begins, with the options that the program passed. Returns the variants of an earlier machine
    // at the same address.
    std::vector<void*> add(const void* machine, const std::string& key, std::shared_ptr<const Options> options);
    // Removes a machine that ends. Returns its variants.
    std::vector<void*> remove(const void* machine) noexcept;
    std::vector<void*> clear() noexcept;

    // Whether the machine itself is the one for the values of that key. A machine whose construction was not seen
    // counts as made with the process-wide values.
    bool made_in(const void* machine, const std::string& key) noexcept;
    // From now on the machine is not the one for any values.
    void forget_where(const void* machine);

    // Returns the options that the program passed, if known, and whether the machine was made for a JIT, if known.
    std::pair<std::shared_ptr<const Options>, std::optional<bool>> how_made(const void* machine);
    void remember(const void* machine, std::shared_ptr<const Options> options, bool jit);
    // Returns the level of optimisation that the machine was made with. `now`: its level at this moment, which counts
    // where no emission has begun yet. Call it before each one: LLVM lowers the level while it works on some functions.
    std::int32_t level(const void* machine, std::int32_t now);

    // Returns an idle variant for the values of that key, or null.
    void* take(const void* machine, const std::string& key) noexcept;
    // Keeps a variant. Returns one to dispose of, or null.
    void* give(const void* machine, const std::string& key, void* variant);
    std::size_t idle();

private:
    struct Known {
        std::optional<std::string> key = outside;  // nullopt: made for no values
        std::shared_ptr<const Options> options;
        std::optional<bool> jit;
        std::optional<std::int32_t> level;
    };
    struct Idle {
        const void* machine;
        std::string key;
        void* variant;
    };
    static constexpr std::size_t capacity_ = 32;  // variants, up to a megabyte each

    std::vector<void*> take_all(const void* machine);

    os::ForkSafeMutex mutex_{os::Rank::machines};
    std::unordered_map<const void*, Known> known_;
    std::list<Idle> idle_;  // oldest first
};

}  // namespace optctx::machine

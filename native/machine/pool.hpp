// What is known of TargetMachines, and the variants of each that no run has at this moment.
#pragma once

#include "machine/llvm.hpp"
#include "os/fork_locks.hpp"

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace optctx::machine {

// Keys are those of contexts (view::Context::key), which are never empty; this one is of what is process-wide.
inline const std::string outside;

// Disposing of machines is the caller's: LLVM is never called with the lock held.
class Pool {
public:
    // A machine that begins, and what its maker passed. Returns variants of another one that was at that address.
    std::vector<void*> add(const void* machine, const std::string& key, std::shared_ptr<const Options> options);
    // It ends; returns its variants.
    std::vector<void*> remove(const void* machine) noexcept;
    std::vector<void*> clear() noexcept;

    // True if the machine itself is the one for the values of that key. Of a machine that nobody saw begin, it is the
    // one for what is process-wide.
    bool made_in(const void* machine, const std::string& key) noexcept;
    // From now on it is not the one for any values.
    void forget_where(const void* machine);
    bool any_made_inside() const noexcept { return made_inside_.load(std::memory_order_relaxed) > 0; }

    // What its maker passed, as far as that is known, and whether it was for a JIT.
    std::pair<std::shared_ptr<const Options>, std::optional<bool>> how_made(const void* machine);
    void remember(const void* machine, std::shared_ptr<const Options> options, bool jit);

    // A variant for the values of that key, or null.
    void* take(const void* machine, const std::string& key) noexcept;
    // Keeps a variant; returns one to be disposed of, or null.
    void* give(const void* machine, const std::string& key, void* variant);
    std::size_t idle();

private:
    struct Known {
        std::optional<std::string> key;  // nothing: for no values at all
        std::shared_ptr<const Options> options;
        std::optional<bool> jit;
    };
    struct Idle {
        const void* machine;
        std::string key;
        void* variant;
    };
    static constexpr std::size_t capacity_ = 32;  // variants, up to a megabyte each

    std::vector<void*> take_all(const void* machine);
    void count(const Known& known, std::ptrdiff_t by) noexcept;

    os::ForkSafeMutex mutex_{os::Rank::machines};
    std::unordered_map<const void*, Known> known_;
    std::list<Idle> idle_;  // oldest first
    std::atomic<std::ptrdiff_t> made_inside_{0};
};

}  // namespace optctx::machine

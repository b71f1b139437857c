// A context: a full, immutable set of option values that threads enter and leave.
#pragma once

#include "values/space.hpp"
#include "views/poison.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace optctx::contexts {

struct ScopeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Owned by a C++ shared_ptr, so that a thread that ends inside, or holds a lock, can release it without the GIL.
// Immutable. Any number of threads may be inside at once, each with its own activation.
class Context : public std::enable_shared_from_this<Context> {
public:
    // The registered values, then `base`, then `overrides` on top. If `reads` is not null, readers are marked there
    // while any thread is inside.
    Context(values::Space& space, std::shared_ptr<const values::Setting> base, values::Setting overrides,
            std::shared_ptr<views::Reads> reads);
    ~Context();

    values::Space& space() const noexcept { return space_; }
    const std::shared_ptr<views::Reads>& reads() const noexcept { return reads_; }
    const std::shared_ptr<const values::Setting>& base() const noexcept { return base_; }
    const values::Setting& overrides() const noexcept { return overrides_; }
    // Return a context with this setting in place of what this one has for the same slots. The marks of its readers
    // count for this context, but for those that read the setting.
    std::shared_ptr<Context> with(const values::Setting& setting) const;
    // Return a context in which every option has its registered value.
    std::shared_ptr<Context> with_registered_values() const;
    // Return the storage that holds the value of a slot. It stays pristine, whatever LLVM writes inside a scope.
    void* address(std::uint32_t slot) const;
    // Return the text of what that value was made of (values::Block::given); empty if it is not known.
    std::string text(std::uint32_t slot) const;

    // Map each slot to the storage that holds its value.
    std::vector<void*> values() const;
    // Return the slots whose regions differ from what was registered, in ascending order.
    std::vector<std::uint32_t> changed() const;
    // Return a text that is equal for contexts with equal values, and only for those. Never empty.
    const std::string& key() const;

    // Return whether LLVM prints debug output inside. Its flag is then raised while a thread is inside.
    bool prints() const noexcept { return prints_; }

    // A thread is about to see the values, or sees them no longer. `come_in` throws views::UnwatchedError, with nothing
    // changed, if reads are watched and page faults of this thread cannot be handled.
    void come_in();
    void go_out();
    // From `hold` to `let_go`, LLVM may start to read in this context at any time, even while no thread is inside.
    void hold() noexcept;
    void let_go() noexcept;
    // Return the readers marked since the last call, and clear the marks. Return nullopt if a thread is inside, if the
    // context is held, if reads are not watched, or if some were lost.
    std::optional<std::vector<std::uint32_t>> take_reads();
    // Repair the counts in the child of a fork: set the number of threads inside each context to what `inside` returns.
    static void count_threads_again(const std::function<std::size_t(const Context&)>& inside) noexcept;

private:
    const values::Block* block(std::uint32_t slot) const;
    std::string find_key() const;
    std::shared_ptr<views::Reads> reads_without(const std::vector<bool>& slots) const;
    bool decide_prints() const;
    std::vector<void*> own_values() const;

    values::Space& space_;
    std::shared_ptr<const values::Setting> base_;
    values::Setting overrides_;
    std::shared_ptr<views::Reads> reads_;
    bool prints_ = false;
    // One mutex, shared by all contexts and safe to hold around a fork, guards `inside_`, `held_` and `handler_`.
    std::size_t inside_ = 0;
    std::size_t held_ = 0;
    std::optional<views::PoisonHandler> handler_;           // while any thread is inside
    mutable std::atomic<const std::string*> key_{nullptr};  // computed on first use; owned
};

}  // namespace optctx::contexts

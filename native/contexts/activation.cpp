#include "contexts/activation.hpp"

#include "contexts/context.hpp"
#include "os/fork_locks.hpp"

#include <atomic>
#include <cstddef>
#include <utility>

namespace optctx::contexts {
namespace {

// Idle activations of the contexts of all images, oldest first.
class Pool {
public:
    Pool() { idle_.reserve(most + 1); }

    // Return an idle activation of this context, or null.
    std::unique_ptr<Activation> take(const Context& context) {
        const std::lock_guard lock(mutex_);
        // The newest are at the end, and a scope is usually re-entered soon.
        for (auto at = idle_.end(); at != idle_.begin();) {
            if (&(*--at)->entered() != &context) continue;
            std::unique_ptr<Activation> found = std::move(*at);
            idle_.erase(at);
            return found;
        }
        return nullptr;
    }

    void give(std::unique_ptr<Activation> activation) noexcept {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(activation));
        if (idle_.size() > most) idle_.erase(idle_.begin());
    }

    void forget(const Context& context) {
        const std::lock_guard lock(mutex_);
        std::erase_if(idle_, [&](const auto& each) { return &each->entered() == &context; });
    }

private:
    static constexpr std::size_t most = 128;  // in the process, about 115 KB each
    os::ForkSafeMutex mutex_{os::Rank::activations};
    std::vector<std::unique_ptr<Activation>> idle_;
};

auto& idle = *new Pool;  // outlives every thread

std::atomic<std::uint64_t> made_so_far{0};
constexpr unsigned entry_bits = 36;  // of the number of an entry, for those of one activation

}  // namespace

Activation::Activation(values::Space& space, std::vector<void*> values, Context* owner, views::Reads* reads)
    : space_(space),
      owner_(owner),
      reads_(reads),
      storage_(space, std::move(values)),
      entry_((made_so_far.fetch_add(1) + 1) << entry_bits) {
    storage_.lead(owner, reads);
}

Activation::~Activation() {
    if (raises_flag_) space_.debugging()->lower();
}

void Activation::reset() {
    storage_.reset();
    ++entry_;
    if (reads_ != nullptr) space_.layout()->poison(storage_.view(), reads_, nullptr);
}

Context& Activation::shown() const noexcept { return adopted_ != nullptr ? *adopted_ : *owner_; }

void Activation::adopt(std::shared_ptr<Context> context, Given given, bool fresh) {
    const std::vector<void*> values = context->values();
    const std::vector<void*> before = fresh ? std::vector<void*>() : shown().values();
    if (context->prints() && !raises_flag_) {
        space_.debugging()->raise();
        raises_flag_ = true;
    }
    storage_.rewrite(values, fresh ? nullptr : &before);
    reads_ = context->reads().get();
    storage_.lead(context.get(), reads_);
    given_ = std::move(given);
    adopted_ = std::move(context);
    const unsigned image = space_.image();
    const views::View view = storage_.view();
    if (views::view_read(image) != view && views::current_view(image) == view)
        views::set_current_view(image, view);  // a recorder shows a copy
}

std::optional<std::uint32_t> Activation::slot_of(std::uintptr_t option) const noexcept {
    if (const auto slot = space_.slot_of(option)) return slot;
    return storage_.slot_of(option);
}

std::unique_ptr<Activation> acquire(Context& context) {
    context.come_in();
    try {
        if (std::unique_ptr<Activation> found = idle.take(context)) {
            found->reset();
            return found;
        }
        return std::make_unique<Activation>(context.space(), context.values(), &context, context.reads().get());
    } catch (...) {
        context.go_out();
        throw;
    }
}

void release(std::unique_ptr<Activation> activation) noexcept {
    Context& context = activation->entered();
    if (activation->adopted() == nullptr) idle.give(std::move(activation));
    activation.reset();
    context.go_out();
}

void forget_idle(const Context& context) { idle.forget(context); }

}  // namespace optctx::contexts

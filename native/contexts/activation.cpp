#include "contexts/activation.hpp"

#include "contexts/context.hpp"
#include "os/fork_locks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

namespace optctx::contexts {
namespace {

// Idle activations of the contexts of all images, oldest first.
class Pool {
public:
    // Return an idle activation of this context, or an empty list.
    Acquired take(const Context& owner) {
        Acquired found;
        const std::lock_guard lock(mutex_);
        // The newest are at the end, and a scope is usually re-entered soon.
        const auto at =
            std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& each) { return each.owner == &owner; });
        if (at != idle_.rend()) found.splice(found.begin(), idle_, std::next(at).base());
        return found;
    }

    void give(Acquired activation) {
        const std::lock_guard lock(mutex_);
        idle_.splice(idle_.end(), activation);
        if (idle_.size() > most) idle_.pop_front();
    }

    void forget(const Context& owner) {
        const std::lock_guard lock(mutex_);
        idle_.remove_if([&](const Idle& each) { return each.owner == &owner; });
    }

private:
    static constexpr std::size_t most = 128;  // in the process, about 115 KB each
    os::ForkSafeMutex mutex_{os::Rank::activations};
    Acquired idle_;
};

auto& idle = *new Pool;  // outlives every thread

}  // namespace

Activation::Activation(values::Space& space, std::vector<void*> values, Context* owner, views::Reads* reads)
    : space_(space), owner_(owner), reads_(reads), storage_(space, std::move(values)) {
    storage_.lead(owner, reads);
}

Activation::~Activation() {
    if (raises_flag_) space_.debugging()->lower();
}

void Activation::reset() {
    storage_.reset();
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

Acquired acquire(Context& context) {
    context.come_in();
    try {
        Acquired found = idle.take(context);
        if (found.empty())
            found.push_back({&context, std::make_unique<Activation>(context.space(), context.values(), &context,
                                                                    context.reads().get())});
        else
            found.front().activation->reset();
        return found;
    } catch (...) {
        context.go_out();
        throw;
    }
}

void release(Context& context, Acquired activation) {
    if (activation.front().activation->adopted() == nullptr) idle.give(std::move(activation));
    activation.clear();
    context.go_out();
}

void forget_idle(const Context& context) { idle.forget(context); }

}  // namespace optctx::contexts

#include "contexts/activation.hpp"

#include "contexts/context.hpp"
#include "os/fork_locks.hpp"

#include <algorithm>
#include <atomic>
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

std::atomic<unsigned> shallow{32};
// The activations that this thread uses, but those that share storage.
__attribute__((tls_model("initial-exec"))) constinit thread_local views::PerImage<unsigned> with_own_storage{};

}  // namespace

Activation::Activation(values::Space& space, std::vector<void*> values, Context* owner, views::Reads* reads, bool deep)
    : space_(space),
      owner_(owner),
      reads_(reads),
      is_deep_(deep),
      storage_(deep ? share(std::move(values)) : std::make_shared<Storage>(space, std::move(values))) {
    storage_->lead(owner, reads);
}

// Take shared storage from the activation that it shows. If that fails, nothing is changed.
std::shared_ptr<Storage> Activation::share(std::vector<void*> values) {
    std::shared_ptr<DeepStorage> shared;
    if (DeepStorage* found = deep_storage(space_.image())) {
        shared = found->shared_from_this();
        shared->activations.insert(this);
        Activation* last = shared->holder;
        try {
            if (last != nullptr) last->put_away();
            shared->renew(values);
        } catch (...) {
            shared->activations.erase(this);
            if (last != nullptr) last->bring_back();
            throw;
        }
    } else {
        shared = std::make_shared<DeepStorage>(space_, std::move(values));
        shared->activations.insert(this);
    }
    shared->holder = this;
    return shared;
}

Activation::~Activation() {
    give_up();
    if (raises_flag_) space_.debugging()->lower();
}

void Activation::put_away() {
    away_ = storage_->put_away(deep().base);
    deep().holder = nullptr;
}

void Activation::bring_back() noexcept {
    if (!is_deep_ || storage_ == nullptr || deep().holder == this) return;
    if (deep().holder != nullptr) deep().holder->put_away();
    storage_->bring_back(deep().base, std::move(away_));
    storage_->lead(&shown(), reads_);
    deep().holder = this;
}

void Activation::give_up() noexcept {
    if (!is_deep_ || storage_ == nullptr) return;
    Activation* holder = deep().holder;
    bring_back();
    storage_->give_up();
    deep().holder = nullptr;
    deep().activations.erase(this);
    if (holder != nullptr && holder != this) holder->bring_back();
    storage_.reset();
}

void Activation::reset() {
    storage_->reset();
    if (reads_ != nullptr) space_.layout()->poison(storage_->view(), reads_, nullptr);
}

Context& Activation::shown() const noexcept { return adopted_ != nullptr ? *adopted_ : *owner_; }

void Activation::adopt(std::shared_ptr<Context> context, Given given, bool fresh) {
    const std::vector<void*> values = context->values();
    const std::vector<void*> before = fresh ? std::vector<void*>() : shown().values();
    if (context->prints() && !raises_flag_) {
        space_.debugging()->raise();
        raises_flag_ = true;
    }
    storage_->rewrite(values, fresh ? nullptr : &before);
    reads_ = context->reads().get();
    storage_->lead(context.get(), reads_);
    given_ = std::move(given);
    adopted_ = std::move(context);
    const unsigned image = space_.image();
    const views::View view = storage_->view();
    if (views::view_read(image) != view && views::current_view(image) == view)
        views::set_current_view(image, view);  // a recorder shows a copy
}

std::optional<std::uint32_t> Activation::slot_of(std::uintptr_t option) const noexcept {
    if (const auto slot = space_.slot_of(option)) return slot;
    return storage_->slot_of(option);
}

Sight sight(unsigned image) noexcept {
    const views::View view = views::current_view(image);
    DeepStorage* deep = deep_storage(image);
    return {view, deep != nullptr && deep->view() == view ? deep->holder : nullptr};
}

void show(unsigned image, Sight sight) noexcept {
    if (sight.deep != nullptr) {
        const DeepStorage* deep = deep_storage(image);
        if (deep == nullptr || !deep->activations.contains(sight.deep))
            sight = {views::identity_view(image)};  // it is gone; what the task sees is shown next
        else
            sight.deep->bring_back();
    }
    views::set_current_view(image, sight.view);
}

unsigned share_storage_from(unsigned depth) noexcept { return shallow.exchange(depth); }

Acquired acquire(Context& context) {
    context.come_in();
    try {
        unsigned& own = with_own_storage[context.space().image()];
        const bool deep = own >= shallow.load(std::memory_order_relaxed);
        Acquired found = deep ? Acquired() : idle.take(context);
        if (found.empty())
            found.push_back({&context, std::make_unique<Activation>(context.space(), context.values(), &context,
                                                                    context.reads().get(), deep)});
        else
            found.front().activation->reset();
        if (!deep) ++own;
        return found;
    } catch (...) {
        context.go_out();
        throw;
    }
}

void release(Context& context, Acquired activation) {
    const Activation& released = *activation.front().activation;
    if (!released.is_deep()) {
        --with_own_storage[context.space().image()];
        if (released.adopted() == nullptr) idle.give(std::move(activation));
    }
    activation.clear();
    context.go_out();
}

void forget_idle(const Context& context) { idle.forget(context); }

}  // namespace optctx::contexts

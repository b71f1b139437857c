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
        Acquired oldest;  // destroyed after the lock is released
        const std::lock_guard lock(mutex_);
        idle_.splice(idle_.end(), activation);
        if (idle_.size() > most) oldest.splice(oldest.begin(), idle_, idle_.begin());
    }

    void forget(const Context& owner) {
        Acquired gone;
        const std::lock_guard lock(mutex_);
        for (auto at = idle_.begin(); at != idle_.end();) {
            const auto next = std::next(at);
            if (at->owner == &owner) gone.splice(gone.begin(), idle_, at);
            at = next;
        }
    }

private:
    static constexpr std::size_t most = 128;  // in the process, about 115 KB each
    os::ForkSafeMutex mutex_{os::Rank::activations};
    Acquired idle_;
};

auto& idle = *new Pool;  // outlives every thread

}  // namespace

Activation::Activation(values::Space& space, std::vector<void*> values, Context* owner, views::Reads* reads)
    : space_(space), reads_(reads), view_(std::move(values)), copies_(space, view_.data()) {
    const views::Layout& layout = *space.layout();
    view_.resize(layout.size());
    layout.spread(view_.data());
    layout.owner(view_.data()) = owner;
    layout.reads(view_.data()) = reads;
    if (reads != nullptr) layout.poison(view_.data(), reads, nullptr);
}

Activation::~Activation() {
    if (raises_flag_) space_.debugging()->lower();
}

void Activation::reset() {
    copies_.reset();
    if (reads_ != nullptr) space_.layout()->poison(view_.data(), reads_, nullptr);
}

Context& Activation::shown() const noexcept { return *space_.layout()->owner(const_cast<views::View>(view_.data())); }

void Activation::adopt(std::shared_ptr<Context> context, Given given, bool fresh) {
    const std::vector<void*> values = context->values();
    const std::vector<void*> before = fresh ? std::vector<void*>() : shown().values();
    if (context->raises_flag() && !raises_flag_) {
        space_.debugging()->raise();
        raises_flag_ = true;
    }
    copies_.rewrite(values, fresh ? nullptr : &before, view_.data());
    show(std::move(context), std::move(given));
}

// From here on the view is that of `context`. Its words lead where they must.
void Activation::show(std::shared_ptr<Context> context, Given given) {
    const views::Layout& layout = *space_.layout();
    reads_ = context->reads().get();
    layout.owner(view_.data()) = context.get();
    layout.reads(view_.data()) = reads_;
    layout.spread(view_.data());
    if (reads_ != nullptr) layout.poison(view_.data(), reads_, nullptr);
    given_ = std::move(given);
    adopted_ = std::move(context);
    if (views::view_read(space_.image()) != view_.data() && views::current_view(space_.image()) == view_.data())
        views::set_current_view(space_.image(), view_.data());  // a recorder shows a copy
}

void Activation::expose() {
    if (copies_.is_exposed()) return;
    std::shared_ptr<Context> context = shown().shared_from_this();
    copies_.expose(context->values(), view_.data());
    show(std::move(context), Given(given_));
}

std::uintptr_t Activation::registry_like(const image::RegistryLayout& layout, std::uintptr_t map) {
    expose();
    auto& copies = registries_[map];
    if (copies.empty() || !copies.back()->is_current(map))
        copies.push_back(std::make_unique<image::RegistryCopy>(layout, map, [this](std::uintptr_t option) {
            const auto slot = space_.slot_of(option);
            return slot ? reinterpret_cast<std::uintptr_t>(view_[*slot]) : option;
        }));
    return copies.back()->map();
}

void Activation::take_in() {
    if (!copies_.is_exposed()) return;
    std::shared_ptr<Context> context = shown().shared_from_this();
    Given given = given_;
    bool changed = false;
    for (auto& [slot, setting] : copies_.changes(context->values())) {
        context = context->with(setting);
        given.occurrences[slot] = {};  // nothing says what was given
        changed = true;
    }
    if (changed) show(std::move(context), std::move(given));
}

std::optional<std::uint32_t> Activation::slot_of(std::uintptr_t option) const noexcept {
    if (const auto slot = space_.slot_of(option)) return slot;
    return copies_.is_exposed() ? copies_.slot_of(option) : std::nullopt;
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

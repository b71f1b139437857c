#include "contexts/activation.hpp"

#include "contexts/context.hpp"
#include "contexts/exposed.hpp"
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
    // Returns an idle activation of this context, or an empty list.
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
    : space_(space), reads_(reads), view_(std::move(values)), copies_(space.take_copies()) {
    std::uint8_t* at = copies_->data();
    for (const std::uint32_t slot : space.copied()) {
        const values::Region& region = space.regions()[slot];
        values::copy_object(region, view_[slot], at);
        values::share_value(region, at);
        if (region.ownership == values::Ownership::set) pristine_sets_.push_back(view_[slot]);
        view_[slot] = at;
        at += values::padded(region.size);
    }
    for (const values::CopiedPointer& pointer : space.copied_pointers()) {
        const void* target = static_cast<const std::uint8_t*>(view_[pointer.slot]) + pointer.offset;
        std::memcpy(copies_->data() + pointer.at, &target, sizeof target);
    }
    if (const views::Layout* layout = space.layout().get()) {
        view_.resize(layout->size());
        layout->spread(view_.data());
        layout->owner(view_.data()) = owner;
        layout->reads(view_.data()) = reads;
        if (reads != nullptr) layout->poison(view_.data(), reads, nullptr);
    }
    for (const std::uint32_t word : space.hot_words()) {
        std::uint64_t value;
        std::memcpy(&value, copies_->data() + word, sizeof value);
        pristine_.push_back(value);
    }
}

Activation::~Activation() {
    if (raises_flag_) space_.debugging()->lower();
    for (const values::CopiedSet& set : space_.copied_sets())
        values::release_value(space_.regions()[set.slot], copies_->data() + set.object_at);
    space_.give_copies(std::move(copies_));
}

void Activation::reset() {
    std::uint8_t* copies = copies_->data();
    for (const values::OwningWord& owner : space_.owning_words()) {
        // When LLVM assigned another string, it released the copy's share of the old one.
        if (std::memcmp(copies + owner.at, &pristine_[owner.index], sizeof(std::uint64_t)) == 0) continue;
        std::memcpy(copies + owner.at, &pristine_[owner.index], sizeof(std::uint64_t));
        values::share_value(space_.regions()[owner.slot], copies + owner.object_at);
    }
    // Most of what entering a scope costs. The compiler cannot know that no word is a member of the vectors.
    const std::uint32_t* const words = space_.hot_words().data();
    const std::uint64_t* const pristine = pristine_.data();
    const std::size_t count = pristine_.size();
#pragma GCC unroll 8
    for (std::size_t i = 0; i < count; ++i) std::memcpy(copies + words[i], pristine + i, sizeof(std::uint64_t));
    renew_sets();
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
    rewrite(values, fresh ? nullptr : &before);
    if (exposed_ != nullptr) exposed_->rewrite(values, fresh ? nullptr : &before);
    point_view_at(values);
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
    if (exposed_ != nullptr) return;
    auto exposed = std::make_unique<Exposed>(space_);
    std::shared_ptr<Context> context = shown().shared_from_this();
    exposed->fill(context->values(), view_.data());
    exposed_ = std::move(exposed);
    note_pristine();
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
    if (exposed_ == nullptr) return;
    std::shared_ptr<Context> context = shown().shared_from_this();
    Given given = given_;
    bool changed = false;
    for (auto& [slot, setting] : exposed_->changes(context->values(), view_.data())) {
        context = context->with(setting);
        given.occurrences[slot] = {};  // nothing says what was given
        changed = true;
    }
    if (changed) show(std::move(context), std::move(given));
}

std::optional<std::uint32_t> Activation::slot_of(std::uintptr_t option) const noexcept {
    if (const auto slot = space_.slot_of(option)) return slot;
    return exposed_ == nullptr ? std::nullopt : exposed_->slot_of(option, view_.data());
}

// What the hot words hold now is not LLVM's doing.
void Activation::note_pristine() {
    const auto& words = space_.hot_words();
    for (std::size_t i = 0; i < words.size(); ++i)
        std::memcpy(&pristine_[i], copies_->data() + words[i], sizeof(std::uint64_t));
}

// Gives the copies of options and their variables new values, where these differ from those in `before`, if given.
void Activation::rewrite(const std::vector<void*>& values, const std::vector<void*>* before) {
    std::size_t at = 0, word = 0, set = 0;
    const auto& words = space_.hot_words();
    for (const std::uint32_t slot : space_.copied()) {
        const values::Region& region = space_.regions()[slot];
        const std::size_t end = at + values::padded(region.size);
        std::uint8_t* object = copies_->data() + at;
        const bool is_set = region.ownership == values::Ownership::set;
        const bool changes = (region.role == values::Role::option || region.role == values::Role::variable) &&
                             (before == nullptr || values[slot] != (*before)[slot]);
        if (changes) {
            if (is_set) {
                values::release_value(region, object);
                pristine_sets_[set] = values[slot];
            }
            values::copy_object(region, values[slot], object);
            values::share_value(region, object);
            if (exposed_ != nullptr) exposed_->lead(slot, object);
        }
        for (; word < words.size() && words[word] < end; ++word)
            if (changes) std::memcpy(&pristine_[word], copies_->data() + words[word], sizeof(std::uint64_t));
        if (is_set) ++set;
        at = end;
    }
}

// Regions that this activation has copies of stay there.
void Activation::point_view_at(const std::vector<void*>& values) {
    std::vector<bool> copied(values.size());
    for (const std::uint32_t slot : space_.copied()) copied[slot] = true;
    for (std::size_t slot = 0; slot < values.size(); ++slot)
        if (!copied[slot] && (exposed_ == nullptr || !exposed_->has(static_cast<std::uint32_t>(slot))))
            view_[slot] = values[slot];
}

bool Activation::written() const noexcept {
    const std::uint8_t* copies = copies_->data();
    for (const std::uint32_t index : space_.option_words())
        if (std::memcmp(copies + space_.hot_words()[index], &pristine_[index], sizeof(std::uint64_t)) != 0) return true;
    for (std::size_t i = 0; i < pristine_sets_.size(); ++i) {
        const auto& [slot, object_at] = space_.copied_sets()[i];
        if (!values::same_state(space_.regions()[slot], copies + object_at, pristine_sets_[i])) return true;
    }
    return false;
}

// values::Occurrence counts are hot words, which `reset` restores.
void Activation::renew_sets() {
    for (std::size_t i = 0; i < pristine_sets_.size(); ++i) {
        const auto& [slot, object_at] = space_.copied_sets()[i];
        const values::Region& region = space_.regions()[slot];
        std::uint8_t* object = copies_->data() + object_at;
        if (values::same_state(region, object, pristine_sets_[i])) continue;
        values::release_value(region, object);
        std::memcpy(values::value_of(region, object), values::value_of(region, pristine_sets_[i]),
                    values::value_size(region));
        values::share_value(region, object);
    }
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

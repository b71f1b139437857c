#include "view/activation.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace optctx::view {

Activation::Activation(Space& space, std::vector<void*> values, Context* owner, Reads* reads)
    : space_(space), reads_(reads), view_(std::move(values)), copies_(space.take_copies()) {
    std::uint8_t* at = copies_->data();
    for (const std::uint32_t slot : space.copied()) {
        const Region& region = space.regions()[slot];
        copy_object(region, view_[slot], at);
        share_value(region, at);
        if (region.ownership == Ownership::set) pristine_sets_.push_back(view_[slot]);
        view_[slot] = at;
        at += padded(region.size);
    }
    for (const CopiedPointer& pointer : space.copied_pointers()) {
        const void* target = static_cast<const std::uint8_t*>(view_[pointer.slot]) + pointer.offset;
        std::memcpy(copies_->data() + pointer.at, &target, sizeof target);
    }
    if (const Layout* layout = space.layout().get()) {
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
    for (const CopiedSet& set : space_.copied_sets())
        release_value(space_.regions()[set.slot], copies_->data() + set.object_at);
    space_.give_copies(std::move(copies_));
}

void Activation::reset() {
    std::uint8_t* copies = copies_->data();
    for (const OwningWord& owner : space_.owning_words()) {
        // When LLVM assigned another string, it released the copy's share of the old one.
        if (std::memcmp(copies + owner.at, &pristine_[owner.index], sizeof(std::uint64_t)) == 0) continue;
        std::memcpy(copies + owner.at, &pristine_[owner.index], sizeof(std::uint64_t));
        share_value(space_.regions()[owner.slot], copies + owner.object_at);
    }
    std::size_t index = 0;
    for (const std::uint32_t word : space_.hot_words())
        std::memcpy(copies + word, &pristine_[index++], sizeof(std::uint64_t));
    renew_sets();
    if (reads_ != nullptr) space_.layout()->poison(view_.data(), reads_, nullptr);
}

bool Activation::written() const noexcept {
    const std::uint8_t* copies = copies_->data();
    for (const std::uint32_t index : space_.option_words())
        if (std::memcmp(copies + space_.hot_words()[index], &pristine_[index], sizeof(std::uint64_t)) != 0) return true;
    for (std::size_t i = 0; i < pristine_sets_.size(); ++i) {
        const auto& [slot, object_at] = space_.copied_sets()[i];
        if (!same_state(space_.regions()[slot], copies + object_at, pristine_sets_[i])) return true;
    }
    return false;
}

// Occurrence counts are hot words, which `reset` restores.
void Activation::renew_sets() {
    for (std::size_t i = 0; i < pristine_sets_.size(); ++i) {
        const auto& [slot, object_at] = space_.copied_sets()[i];
        const Region& region = space_.regions()[slot];
        std::uint8_t* object = copies_->data() + object_at;
        if (same_state(region, object, pristine_sets_[i])) continue;
        release_value(region, object);
        std::memcpy(value_of(region, object), value_of(region, pristine_sets_[i]), value_size(region));
        share_value(region, object);
    }
}

ActivationPool::Node ActivationPool::take(const void* owner) {
    Node node;
    const std::lock_guard lock(mutex_);
    // The newest are at the end, and a scope is usually re-entered soon.
    const auto found =
        std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) { return idle.owner == owner; });
    if (found != idle_.rend()) node.splice(node.begin(), idle_, std::next(found).base());
    return node;
}

void ActivationPool::give(Node node) {
    Node oldest;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    idle_.splice(idle_.end(), node);
    if (idle_.size() > capacity_) oldest.splice(oldest.begin(), idle_, idle_.begin());
}

void ActivationPool::forget(const void* owner) {
    Node gone;
    const std::lock_guard lock(mutex_);
    for (auto at = idle_.begin(); at != idle_.end();) {
        const auto next = std::next(at);
        if (at->owner == owner) gone.splice(gone.begin(), idle_, at);
        at = next;
    }
}

}  // namespace optctx::view

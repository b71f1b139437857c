#include "contexts/storage.hpp"

#include "contexts/context.hpp"
#include "image/layouts.hpp"
#include "os/fork_locks.hpp"
#include "values/strings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace optctx::contexts {
namespace {

constexpr std::size_t word_size = sizeof(std::uint64_t);

// LLVM's own storage is aligned to at most 16 bytes.
constexpr std::size_t padded(std::size_t size) { return (size + 15) / 16 * 16; }

bool is_value(const values::Region& region) noexcept {
    return region.role == values::Role::option || region.role == values::Role::variable;
}

}  // namespace

// The block that the written regions are copied to, and the characters of the strings in it that have some of their
// own, by their order.
struct Copies {
    std::unique_ptr<values::Block> block;
    std::vector<values::Characters> characters;
};

// What the copies of all entries into contexts of one space have in common.
struct CopyPlan {
    explicit CopyPlan(const std::vector<values::Region>& regions) : at(regions.size()) {
        for (std::uint32_t slot = 0; slot < regions.size(); ++slot) {
            const values::Region& region = regions[slot];
            if (!region.scoped || !region.written) continue;
            at[slot] = bytes;
            slots.push_back(slot);
            bytes += padded(region.size);
            add_hot_words(slot, region);
        }
        state_from = strings_.size() + values_.size();
        occurrences_from = state_from + state_.size();
        for (const Offsets* each : {&strings_, &values_, &state_, &occurrences_})
            hot_words.insert(hot_words.end(), each->begin(), each->end());
    }

    using Offsets = std::vector<std::uint32_t>;  // in bytes

    std::vector<std::uint32_t> slots{};  // of the regions that are copied, into one block
    std::size_t bytes = 0;
    // Blocks are reused but never freed: LLVM may have kept an address into them.
    std::vector<Copies> idle{};
    std::size_t blocks = 0;       // idle or not
    std::vector<std::size_t> at;  // by slot: bytes from the start of the block
    // In the block of the written regions, the words that LLVM writes: strings that it may assign to, other values of
    // options and variables, from `state_from` on state beside options, and from `occurrences_from` on the occurrence
    // counts.
    Offsets hot_words{};
    std::size_t state_from = 0;
    std::size_t occurrences_from = 0;
    std::vector<std::uint32_t> string_slots{};  // of the first hot words
    std::vector<std::uint32_t>
        own_string_slots{};  // of those with characters of their own, compared and given as a whole

private:
    Offsets strings_{};
    Offsets values_{};
    Offsets state_{};
    Offsets occurrences_{};

    void add_hot_words(std::uint32_t slot, const values::Region& region) {
        const auto word = [begin = at[slot]](std::size_t offset) { return static_cast<std::uint32_t>(begin + offset); };
        if (values::is_own_string(region)) own_string_slots.push_back(slot);
        if (region.role != values::Role::option) {
            if (values::is_own_string(region)) return;
            if (!region.pointers.empty()) return;  // a constant table
            Offsets& words = region.role == values::Role::state ? state_ : values_;
            for (std::size_t offset = 0; offset < region.size; offset += word_size) words.push_back(word(offset));
            return;
        }
        if (region.kind == values::Kind::list) throw std::runtime_error("a list cannot be copied for each activation");
        occurrences_.push_back(word(offsetof(image::RawOption, occurrences)));
        if (values::is_own_string(region)) return;
        if (region.ownership == values::Ownership::string) {
            strings_.push_back(word(region.value_offset));
            string_slots.push_back(slot);
        } else {
            values_.push_back(word(region.value_offset));
        }
    }
};

namespace {

// The plans of all spaces, which are never freed. The mutex guards them and their idle blocks. Outlives every thread.
struct Plans {
    os::ForkSafeMutex mutex{os::Rank::copies};
    std::map<const values::Space*, CopyPlan> by_space;
};
auto& plans = *new Plans;

CopyPlan& plan_of(const values::Space& space) {
    const std::lock_guard lock(plans.mutex);
    return plans.by_space.at(&space);
}

Copies take_copies(CopyPlan& plan) {
    const std::lock_guard lock(plans.mutex);
    if (plan.idle.empty()) {
        plan.idle.reserve(plan.blocks + 1);  // for all of them: giving one back cannot fail
        Copies made{std::make_unique<values::Block>(plan.bytes),
                    std::vector<values::Characters>(plan.own_string_slots.size())};
        ++plan.blocks;
        return made;
    }
    Copies copies = std::move(plan.idle.back());
    plan.idle.pop_back();
    return copies;
}

}  // namespace

void plan_copies(const values::Space& space) {
    CopyPlan plan(space.regions());
    const std::lock_guard lock(plans.mutex);
    plans.by_space.emplace(&space, std::move(plan));
}

Storage::Storage(const values::Space& space, std::vector<void*> values)
    : regions_(space.regions()),
      layout_(space.layout()),
      plan_(plan_of(space)),
      view_(std::move(values)),
      copies_(std::make_unique<Copies>(take_copies(plan_))),
      written_(copies_->block.get()),
      string_sources_(plan_.own_string_slots.size()),
      pristine_(plan_.hot_words.size()) {
    view_.resize(layout_->size());
    copy();
}

Storage::~Storage() {
    for (std::size_t i = 0; i < plan_.string_slots.size(); ++i)
        if (std::memcmp(written_->data() + plan_.hot_words[i], &pristine_[i], word_size) == 0)
            values::release_value(regions_[plan_.string_slots[i]], object(plan_.string_slots[i]));
    const std::lock_guard lock(plans.mutex);
    plan_.idle.push_back(std::move(*copies_));
}

void Storage::lead(Context& owner) noexcept {
    views::Reads* const reads = owner.reads().get();
    layout_->spread(view_.data());
    layout_->owner(view_.data()) = &owner;
    layout_->reads(view_.data()) = reads;
    if (reads != nullptr) layout_->poison(view_.data(), reads, nullptr);
}

// Copy the written regions from where the view leads, and lead it to the copies.
void Storage::copy() {
    for (const std::uint32_t slot : plan_.slots) {
        give(slot, view_[slot]);
        view_[slot] = object(slot);
    }
    for (const std::uint32_t slot : plan_.slots) {
        for (const values::Pointer& pointer : regions_[slot].pointers) {
            const void* target = static_cast<const std::uint8_t*>(view_[pointer.slot]) + pointer.offset;
            std::memcpy(object(slot) + pointer.at, &target, sizeof target);
        }
    }
    note_pristine(0, plan_.bytes);
}

// Give the copy of a region all that `from` has. It owns nothing now, but for a string with characters of its own.
void Storage::give(std::uint32_t slot, const void* from) {
    const values::Region& region = regions_[slot];
    std::uint8_t* copy = object(slot);
    if (!values::is_own_string(region)) {
        values::copy_object(region, from, copy);
        values::share_value(region, copy);
        return;
    }
    values::copy_but_string(region, from, copy);
    const auto& slots = plan_.own_string_slots;
    const auto at = static_cast<std::size_t>(std::lower_bound(slots.begin(), slots.end(), slot) - slots.begin());
    string_sources_[at] = from;
    values::give_string(region, copy, from, copies_->characters[at]);
}

// Return this thread's copy of a region, or null.
std::uint8_t* Storage::object(std::uint32_t slot) const noexcept {
    const values::Region& region = regions_[slot];
    return region.scoped && region.written ? written_->data() + plan_.at[slot] : nullptr;
}

void Storage::reset() {
    // Most of what entering a scope costs. The compiler cannot know that no word is a member of these.
    std::uint8_t* const copies = written_->data();
    const std::uint32_t* const words = plan_.hot_words.data();
    const std::uint64_t* const pristine = pristine_.data();
    const std::size_t strings = plan_.string_slots.size();
    const std::size_t end = plan_.occurrences_from;
    for (std::size_t i = 0; i < strings; ++i) {
        // When LLVM assigned another string, it released the copy's share of the old one.
        if (std::memcmp(copies + words[i], pristine + i, word_size) == 0) continue;
        std::memcpy(copies + words[i], pristine + i, word_size);
        values::share_value(regions_[plan_.string_slots[i]], object(plan_.string_slots[i]));
    }
    for (std::size_t i = 0; i < plan_.own_string_slots.size(); ++i) {
        const std::uint32_t slot = plan_.own_string_slots[i];
        values::give_string(regions_[slot], object(slot), string_sources_[i], copies_->characters[i]);
    }
#pragma GCC unroll 8
    for (std::size_t i = strings; i < end; ++i) std::memcpy(copies + words[i], pristine + i, word_size);
}

bool Storage::is_written() const noexcept {
    const auto is_pristine = [this](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i)
            if (std::memcmp(written_->data() + plan_.hot_words[i], &pristine_[i], word_size) != 0) return false;
        return true;
    };
    for (std::size_t i = 0; i < plan_.own_string_slots.size(); ++i) {
        const std::uint32_t slot = plan_.own_string_slots[i];
        if (!values::same_string(regions_[slot], object(slot), string_sources_[i])) return true;
    }
    return !is_pristine(0, plan_.state_from) || !is_pristine(plan_.occurrences_from, pristine_.size());
}

// Take what the hot words from this byte of the block on hold now for what LLVM has not written.
void Storage::note_pristine(std::size_t begin, std::size_t size) noexcept {
    for (std::size_t i = 0; i < pristine_.size(); ++i)
        if (const std::size_t at = plan_.hot_words[i]; begin <= at && at < begin + size)
            std::memcpy(&pristine_[i], written_->data() + at, word_size);
}

void Storage::rewrite(const std::vector<void*>& values, const std::vector<void*>* before) {
    for (std::uint32_t slot = 0; slot < regions_.size(); ++slot) {
        if (object(slot) == nullptr) {
            view_[slot] = values[slot];
        } else if (is_value(regions_[slot]) && (before == nullptr || values[slot] != (*before)[slot])) {
            if (!values::is_own_string(regions_[slot])) values::release_value(regions_[slot], object(slot));
            give(slot, values[slot]);
            note_pristine(plan_.at[slot], regions_[slot].size);
        }
    }
}

std::optional<std::uint32_t> Storage::slot_of(std::uintptr_t option) const noexcept {
    for (std::uint32_t slot = 0; slot < regions_.size(); ++slot)
        if (regions_[slot].role == values::Role::option && regions_[slot].scoped &&
            reinterpret_cast<std::uintptr_t>(object(slot)) == option)
            return slot;
    return std::nullopt;
}

}  // namespace optctx::contexts

#include "contexts/storage.hpp"

#include "contexts/context.hpp"
#include "image/layouts.hpp"
#include "os/fork_locks.hpp"
#include "values/strings.hpp"

#include <algorithm>
#include <array>
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
    views::Exposed groups{};  // which LLVM may write to at any time
};

// Eight bytes of a copy, from `at` bytes after the start of the block on.
struct HotWord {
    std::uint32_t at;
    std::uint32_t slot;  // of the region
};

// What the copies of all entries into contexts of one space have in common.
struct CopyPlan {
    CopyPlan(const std::vector<values::Region>& regions, const views::Layout& layout) : at(regions.size()) {
        for (std::uint32_t slot = 0; slot < regions.size(); ++slot) {
            const values::Region& region = regions[slot];
            if (!region.scoped || !region.written) continue;
            at[slot] = bytes;
            slots.push_back(slot);
            bytes += padded(region.size);
            add_hot_words(slot, region);
        }
        strings = strings_.size();
        state_from = strings + values_.size();
        occurrences_from = state_from + state_.size();
        for (const HotWords* each : {&strings_, &values_, &state_, &occurrences_})
            hot_words.insert(hot_words.end(), each->begin(), each->end());
        group(regions, layout);
    }

    using HotWords = std::vector<HotWord>;
    using Indexes = std::vector<std::uint32_t>;  // of hot words; those past the last are of strings of their own

    std::vector<std::uint32_t> slots{};  // of the regions that are copied, into one block
    std::size_t bytes = 0;
    // Blocks are reused but never freed: LLVM may have kept an address into them.
    std::vector<Copies> idle{};
    std::size_t blocks = 0;       // idle or not
    std::vector<std::size_t> at;  // by slot: bytes from the start of the block
    // In the block of the written regions, the words that LLVM writes: strings that it may assign to, other values of
    // options and variables, from `state_from` on state beside options, and from `occurrences_from` on the occurrence
    // counts.
    HotWords hot_words{};
    std::size_t strings = 0;
    std::size_t state_from = 0;
    std::size_t occurrences_from = 0;
    // Of copies with strings that have characters of their own, compared and given as a whole.
    std::vector<std::uint32_t> own_string_slots{};
    // What resetting includes once LLVM may write to the copies of an exposure group, and what it always includes: LLVM
    // finds the addresses in other regions.
    std::array<Indexes, arch::exposure_groups> by_group{};
    Indexes always{};

private:
    HotWords strings_{};
    HotWords values_{};
    HotWords state_{};
    HotWords occurrences_{};

    void add_hot_words(std::uint32_t slot, const values::Region& region) {
        const auto word = [begin = at[slot], slot](std::size_t offset) {
            return HotWord{static_cast<std::uint32_t>(begin + offset), slot};
        };
        if (values::is_own_string(region)) own_string_slots.push_back(slot);
        if (region.role != values::Role::option) {
            if (values::is_own_string(region)) return;
            if (!region.pointers.empty()) return;  // a constant table
            HotWords& words = region.role == values::Role::state ? state_ : values_;
            for (std::size_t offset = 0; offset < region.size; offset += word_size) words.push_back(word(offset));
            return;
        }
        if (region.kind == values::Kind::list) throw std::runtime_error("a list cannot be copied for each activation");
        occurrences_.push_back(word(offsetof(image::RawOption, occurrences)));
        if (values::is_own_string(region)) return;
        HotWords& words = region.ownership == values::Ownership::string ? strings_ : values_;
        words.push_back(word(region.value_offset));
    }

    void group(const std::vector<values::Region>& regions, const views::Layout& layout) {
        std::vector<bool> led_to(regions.size());
        for (const views::Reader& reader : layout.readers()) {
            const values::Region& region = regions[reader.slot];
            if (region.variable != values::no_slot) led_to[region.variable] = true;
            for (const values::Pointer& pointer : region.pointers) led_to[pointer.slot] = true;
        }
        const auto add = [&](std::size_t index, std::uint32_t slot) {
            Indexes& indexes = led_to[slot] ? always : by_group[arch::exposure_group(slot)];
            indexes.push_back(static_cast<std::uint32_t>(index));
        };
        for (std::size_t i = 0; i < occurrences_from; ++i) add(i, hot_words[i].slot);
        for (std::size_t i = 0; i < own_string_slots.size(); ++i) add(hot_words.size() + i, own_string_slots[i]);
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
                    std::vector<values::Characters>(plan.own_string_slots.size()),
                    {}};
        ++plan.blocks;
        return made;
    }
    Copies copies = std::move(plan.idle.back());
    plan.idle.pop_back();
    return copies;
}

}  // namespace

void plan_copies(const values::Space& space) {
    CopyPlan plan(space.regions(), *space.layout());
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
    exposed_words_.reserve(plan_.occurrences_from);  // for all: exposing cannot fail
    exposed_strings_.reserve(plan_.strings + plan_.own_string_slots.size());
    add_exposed(plan_.always);
    for (std::size_t group = 0; group < copies_->groups.size(); ++group)
        if (copies_->groups[group] != 0) add_exposed(plan_.by_group[group]);
}

Storage::~Storage() {
    for (std::size_t i = 0; i < plan_.strings; ++i)
        if (is_pristine(i)) values::release_value(regions_[plan_.hot_words[i].slot], object(plan_.hot_words[i].slot));
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

void Storage::expose(const views::Exposed& groups) noexcept {
    for (std::size_t group = 0; group < groups.size(); ++group) {
        if (groups[group] == 0 || copies_->groups[group] != 0) continue;
        copies_->groups[group] = 1;
        add_exposed(plan_.by_group[group]);
    }
}

void Storage::add_exposed(const std::vector<std::uint32_t>& indexes) noexcept {
    for (const std::uint32_t i : indexes) {
        if (plan_.strings <= i && i < plan_.occurrences_from)
            exposed_words_.push_back({pristine_[i], plan_.hot_words[i].at});
        else
            exposed_strings_.push_back(i);
    }
}

void Storage::reset() {
    std::uint8_t* const copies = written_->data();
    for (const ExposedWord& each : exposed_words_) std::memcpy(copies + each.at, &each.pristine, word_size);
    for (const std::uint32_t i : exposed_strings_)
        if (i >= plan_.strings || !is_pristine(i)) reset_string(i);
}

void Storage::reset_string(std::size_t index) {
    if (index >= plan_.strings) {
        const std::size_t own = index - plan_.hot_words.size();
        const std::uint32_t slot = plan_.own_string_slots[own];
        return values::give_string(regions_[slot], object(slot), string_sources_[own], copies_->characters[own]);
    }
    // When LLVM assigned another string, it released the copy's share of the old one.
    const HotWord& word = plan_.hot_words[index];
    std::memcpy(written_->data() + word.at, &pristine_[index], word_size);
    values::share_value(regions_[word.slot], object(word.slot));
}

bool Storage::is_pristine(std::size_t index) const noexcept {
    return std::memcmp(written_->data() + plan_.hot_words[index].at, &pristine_[index], word_size) == 0;
}

bool Storage::is_written() const noexcept {
    for (std::size_t i = 0; i < plan_.own_string_slots.size(); ++i) {
        const std::uint32_t slot = plan_.own_string_slots[i];
        if (!values::same_string(regions_[slot], object(slot), string_sources_[i])) return true;
    }
    for (std::size_t i = 0; i < pristine_.size(); ++i)
        if ((i < plan_.state_from || i >= plan_.occurrences_from) && !is_pristine(i)) return true;
    return false;
}

// Take what the hot words from this byte of the block on hold now for what LLVM has not written.
void Storage::note_pristine(std::size_t begin, std::size_t size) noexcept {
    for (std::size_t i = 0; i < pristine_.size(); ++i)
        if (const std::size_t at = plan_.hot_words[i].at; begin <= at && at < begin + size)
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

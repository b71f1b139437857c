#include "engines/overlay.hpp"

#include "image/layouts.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace optctx::engines {
namespace {

using image::RawOption;

constexpr std::size_t head_at = offsetof(RawOption, occurrences);
constexpr std::size_t head_size = offsetof(RawOption, arg) - head_at;  // occurrence count, flags, position
constexpr std::size_t word = sizeof(std::uint64_t);

// Return bytes, zero-extended. Most are whole words, which are moved several times as fast.
std::uint64_t load_part(const void* from, std::size_t size) noexcept {
    std::uint64_t value = 0;
    if (size == word)
        std::memcpy(&value, from, word);
    else
        std::memcpy(&value, from, size);
    return value;
}

// Write only what differs: most values are equal, and unwritten pages stay shared with forked children. A word is
// stored at once: threads without the turn read the flags in an option's (RawOption::flags).
void put(void* live, std::uint64_t value, std::size_t size) noexcept {
    if (load_part(live, size) == value) return;
    if (size == word)
        std::atomic_ref(*static_cast<std::uint64_t*>(live)).store(value, std::memory_order_relaxed);
    else
        std::memcpy(live, &value, size);
}

}  // namespace

Overlay::Overlay(values::Space& space) : space_(space) {
    const std::vector<values::Region>& regions = space.regions();
    for (std::uint32_t slot = 0; slot < regions.size(); ++slot) {
        const values::Region& region = regions[slot];
        if (!region.scoped) continue;
        if (region.role == values::Role::option) {
            add(slot, head_at, head_size);
            // The object continues at the next word. If the option has a variable, the value is there.
            if (region.variable == values::no_slot)
                add(slot, region.value_offset, (values::value_size(region) + word - 1) / word * word);
        } else {
            add(slot, 0, region.size);
        }
        if (region.ownership != values::Ownership::none) owning_.push_back(slot);
    }
    before_.resize(parts_.size());
}

void Overlay::add(std::uint32_t slot, std::size_t at, std::size_t size) {
    const auto live = static_cast<std::uintptr_t>(space_.regions()[slot].live);
    for (const std::size_t end = at + size; at < end; at += word)
        parts_.push_back({slot, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(std::min(word, end - at)),
                          reinterpret_cast<void*>(live + at)});
}

// Return what a part is among these values: slot -> storage.
std::uint64_t Overlay::value_in(void* const* values, const Part& part) noexcept {
    return load_part(static_cast<const std::uint8_t*>(values[part.slot]) + part.at, part.size);
}

void Overlay::cover() {
    space_.cover();
    for (std::size_t i = 0; i < parts_.size(); ++i) before_[i] = load_part(parts_[i].live, parts_[i].size);
}

void Overlay::restore() noexcept {
    for (std::size_t i = 0; i < parts_.size(); ++i) put(parts_[i].live, before_[i], parts_[i].size);
    space_.uncover();
}

void Overlay::load(const std::vector<void*>& values) {
    const os::ForkSafeLock storage = space_.hold_storage();
    cover();  // with the shares that the values own
    for (const Part& part : parts_) put(part.live, value_in(values.data(), part), part.size);
    for (const std::uint32_t slot : owning_) values::share_value(space_.regions()[slot], live(slot));
}

void Overlay::load(const Kept& kept) {
    const os::ForkSafeLock storage = space_.hold_storage();
    cover();
    auto next = kept.differences.begin();
    for (std::uint32_t i = 0; i < parts_.size(); ++i) {
        const bool differed = next != kept.differences.end() && next->part == i;
        put(parts_[i].live, differed ? next++->value : value_in(space_.defaults(), parts_[i]), parts_[i].size);
    }
}

void Overlay::unload(bool still_kept) noexcept {
    const os::ForkSafeLock storage = space_.hold_storage();
    if (!still_kept)
        for (const std::uint32_t slot : owning_) values::release_value(space_.regions()[slot], live(slot));
    restore();
}

Kept Overlay::unload_and_keep() {
    const os::ForkSafeLock storage = space_.hold_storage();
    Kept kept;
    for (std::uint32_t i = 0; i < parts_.size(); ++i) {
        const std::uint64_t value = load_part(parts_[i].live, parts_[i].size);
        if (value != value_in(space_.defaults(), parts_[i])) kept.differences.push_back({i, value});
    }
    kept.differences.shrink_to_fit();
    restore();
    return kept;
}

}  // namespace optctx::engines

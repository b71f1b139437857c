#include "engines/overlay.hpp"

#include "image/layouts.hpp"

#include <cstddef>
#include <cstring>

namespace optctx::engines {
namespace {

using image::RawOption;

constexpr std::size_t head_at = offsetof(RawOption, occurrences);
constexpr std::size_t head_size = offsetof(RawOption, arg) - head_at;  // occurrence count, flags, position
constexpr std::size_t word = sizeof(std::uint64_t);

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
    before_.words.resize(words_.size());
    before_.bytes.resize(bytes_.size());
}

template <class T>
T* Overlay::live(std::uint32_t slot, std::size_t at) const noexcept {
    return reinterpret_cast<T*>(space_.regions()[slot].live + at);
}

void Overlay::add(std::uint32_t slot, std::size_t at, std::size_t size) {
    const std::size_t end = at + size;
    for (; at + word <= end; at += word)
        words_.push_back({live<std::uint64_t>(slot, at), slot, static_cast<std::uint32_t>(at)});
    for (; at < end; ++at) bytes_.push_back({live<std::uint8_t>(slot, at), slot, static_cast<std::uint32_t>(at)});
}

void Overlay::keep(Kept& kept) const noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) kept.words[i] = *words_[i].live;
    for (std::size_t i = 0; i < bytes_.size(); ++i) kept.bytes[i] = *bytes_[i].live;
}

// Writes only what differs: most values are equal, and unwritten pages stay shared with forked children.
void Overlay::put(const Kept& kept) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i)
        if (*words_[i].live != kept.words[i]) *words_[i].live = kept.words[i];
    for (std::size_t i = 0; i < bytes_.size(); ++i)
        if (*bytes_[i].live != kept.bytes[i]) *bytes_[i].live = kept.bytes[i];
}

void Overlay::load(const std::vector<void*>& values) {
    const os::ForkSafeLock storage = space_.hold_storage();
    space_.cover();
    keep(before_);  // with the shares that the values own
    const auto put_parts = [&values]<class T>(const std::vector<Part<T>>& parts) {
        for (const Part<T>& part : parts) {
            T value;
            std::memcpy(&value, static_cast<const std::uint8_t*>(values[part.slot]) + part.at, sizeof value);
            if (*part.live != value) *part.live = value;
        }
    };
    put_parts(words_);
    put_parts(bytes_);
    for (const std::uint32_t slot : owning_) values::share_value(space_.regions()[slot], live<void>(slot));
}

void Overlay::load(const Kept& kept) {
    const os::ForkSafeLock storage = space_.hold_storage();
    space_.cover();
    keep(before_);
    put(kept);
}

void Overlay::unload(bool still_kept) noexcept {
    const os::ForkSafeLock storage = space_.hold_storage();
    if (!still_kept)
        for (const std::uint32_t slot : owning_) values::release_value(space_.regions()[slot], live<void>(slot));
    put(before_);
    space_.uncover();
}

Kept Overlay::unload_and_keep() {
    const os::ForkSafeLock storage = space_.hold_storage();
    Kept kept = before_;  // copied for its size
    keep(kept);
    put(before_);
    space_.uncover();
    return kept;
}

}  // namespace optctx::engines

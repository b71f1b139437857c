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

// Write only what differs: most values are equal, and unwritten pages stay shared with forked children.
template <class Part, class T>
void put(const Part& part, T value) noexcept {
    if (*part.live != value) *part.live = value;
}

// Return what a part is among values: slot -> storage.
template <class T, template <class> class Part>
T in(const Part<T>& part, void* const* values) noexcept {
    T value;
    std::memcpy(&value, static_cast<const std::uint8_t*>(values[part.slot]) + part.at, sizeof value);
    return value;
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
    words_before_.resize(words_.size());
    bytes_before_.resize(bytes_.size());
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

void Overlay::note_before() noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_before_[i] = *words_[i].live;
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_before_[i] = *bytes_[i].live;
}

void Overlay::restore() noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) put(words_[i], words_before_[i]);
    for (std::size_t i = 0; i < bytes_.size(); ++i) put(bytes_[i], bytes_before_[i]);
}

void Overlay::load(const std::vector<void*>& values) {
    const os::ForkSafeLock storage = space_.hold_storage();
    space_.cover();
    note_before();  // with the shares that the values own
    for (const auto& part : words_) put(part, in(part, values.data()));
    for (const auto& part : bytes_) put(part, in(part, values.data()));
    for (const std::uint32_t slot : owning_) values::share_value(space_.regions()[slot], live<void>(slot));
}

void Overlay::load(const Kept& kept) {
    const os::ForkSafeLock storage = space_.hold_storage();
    space_.cover();
    note_before();
    const auto put_all = [this]<class T>(const std::vector<Part<T>>& parts, const std::vector<Held<T>>& held) {
        auto next = held.begin();
        for (std::uint32_t i = 0; i < parts.size(); ++i) {
            const bool differed = next != held.end() && next->part == i;
            put(parts[i], differed ? next++->value : in(parts[i], space_.defaults()));
        }
    };
    put_all(words_, kept.words);
    put_all(bytes_, kept.bytes);
}

void Overlay::unload(bool still_kept) noexcept {
    const os::ForkSafeLock storage = space_.hold_storage();
    if (!still_kept)
        for (const std::uint32_t slot : owning_) values::release_value(space_.regions()[slot], live<void>(slot));
    restore();
    space_.uncover();
}

Kept Overlay::unload_and_keep() {
    const os::ForkSafeLock storage = space_.hold_storage();
    Kept kept;
    const auto keep = [this]<class T>(const std::vector<Part<T>>& parts, std::vector<Held<T>>& held) {
        for (std::uint32_t i = 0; i < parts.size(); ++i)
            if (const T value = *parts[i].live; value != in(parts[i], space_.defaults())) held.push_back({i, value});
        held.shrink_to_fit();
    };
    keep(words_, kept.words);
    keep(bytes_, kept.bytes);
    restore();
    space_.uncover();
    return kept;
}

}  // namespace optctx::engines

#include "view/overlay.hpp"

#include "image/option_layout.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

namespace optctx::view {
namespace {

using image::RawOption;

// Most values are the same on both sides; pages that are not written stay shared with children of fork.
void write(std::uint8_t* to, const std::uint8_t* from, std::size_t size) noexcept {
    if (std::memcmp(to, from, size) != 0) std::memcpy(to, from, size);
}

}  // namespace

Overlay::Overlay(Space& space) : space_(space) {
    const std::vector<Region>& regions = space.regions();
    for (std::uint32_t slot = 0; slot < regions.size(); ++slot) {
        const Region& region = regions[slot];
        if (!region.scoped) continue;
        if (region.role == Role::option)
            add(slot, offsetof(RawOption, occurrences), offsetof(RawOption, arg) - offsetof(RawOption, occurrences));
        if (region.variable == no_slot)  // otherwise the value is in the variable
            add(slot, region.role == Role::option ? region.value_offset : 0, value_size(region));
        if (region.ownership != Ownership::none) owning_.push_back(slot);
    }
    before_ = std::make_unique<Block>(kept_bytes_);
}

void Overlay::add(std::uint32_t slot, std::size_t at, std::size_t size) {
    spans_.push_back({slot, at, size, kept_bytes_});
    kept_bytes_ += size;
}

void* Overlay::live_object(std::uint32_t slot) const noexcept {
    return reinterpret_cast<void*>(space_.regions()[slot].live);
}

std::uint8_t* Overlay::live(const Span& span) const noexcept {
    return static_cast<std::uint8_t*>(live_object(span.slot)) + span.at;
}

void Overlay::keep(Block& block) const noexcept {
    for (const Span& span : spans_) std::memcpy(block.data() + span.kept_at, live(span), span.size);
}

void Overlay::put(const Block& block) noexcept {
    for (const Span& span : spans_) write(live(span), block.data() + span.kept_at, span.size);
}

void Overlay::load(const std::vector<void*>& values) {
    const std::unique_lock storage = space_.hold_storage();
    space_.cover();
    keep(*before_);  // and what it owns
    for (const Span& span : spans_)
        write(live(span), static_cast<const std::uint8_t*>(values[span.slot]) + span.at, span.size);
    for (const std::uint32_t slot : owning_) share_value(space_.regions()[slot], live_object(slot));
}

void Overlay::load(Parked parked) {
    const std::unique_lock storage = space_.hold_storage();
    space_.cover();
    keep(*before_);
    put(*parked.bytes);
}

void Overlay::unload() noexcept {
    const std::unique_lock storage = space_.hold_storage();
    for (const std::uint32_t slot : owning_) release_value(space_.regions()[slot], live_object(slot));
    put(*before_);
    space_.uncover();
}

Parked Overlay::park() {
    const std::unique_lock storage = space_.hold_storage();
    Parked parked{std::make_unique<Block>(kept_bytes_)};
    keep(*parked.bytes);
    put(*before_);
    space_.uncover();
    return parked;
}

}  // namespace optctx::view

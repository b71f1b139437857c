#include "contexts/exposed.hpp"

#include <cstring>
#include <utility>

namespace optctx::contexts {
namespace {

void point_at(const values::Region& option, void* object, const void* variable) noexcept {
    std::memcpy(static_cast<std::uint8_t*>(object) + option.value_offset, &variable, sizeof variable);
}

bool is_exposed(const values::Region& region) noexcept {
    return region.scoped && !region.written &&
           (region.role == values::Role::option || region.role == values::Role::variable);
}

std::size_t exposed_bytes(const std::vector<values::Region>& regions) noexcept {
    std::size_t bytes = 0;
    for (const values::Region& region : regions)
        if (is_exposed(region)) bytes += values::padded(region.size);
    return bytes;
}

}  // namespace

Exposed::Exposed(values::Space& space)
    : space_(space),
      block_(space.take_exposed(exposed_bytes(space.regions()))),
      at_(space.regions().size()),
      variable_of_(at_.size()) {
    std::uint8_t* at = block_->data();
    for (std::size_t slot = 0; slot < at_.size(); ++slot) {
        if (!is_exposed(space.regions()[slot])) continue;
        at_[slot] = at;
        at += values::padded(space.regions()[slot].size);
    }
}

Exposed::~Exposed() { space_.give_exposed(std::move(block_)); }

void Exposed::copy(std::uint32_t slot, const void* from) noexcept {
    const values::Region& region = space_.regions()[slot];
    values::copy_object(region, from, at_[slot]);
    values::share_value(region, at_[slot]);
    lead(slot, at_[slot]);
}

void Exposed::lead(std::uint32_t slot, void* object) const noexcept {
    if (variable_of_[slot] != nullptr) point_at(space_.regions()[slot], object, variable_of_[slot]);
}

void Exposed::fill(const std::vector<void*>& values, void** view) {
    for (std::uint32_t slot = 0; slot < at_.size(); ++slot)
        if (has(slot)) view[slot] = at_[slot];
    for (std::uint32_t slot = 0; slot < at_.size(); ++slot) {
        const values::Region& region = space_.regions()[slot];
        const bool external =
            region.scoped && region.role == values::Role::option && region.variable != values::no_slot;
        if (external) variable_of_[slot] = view[region.variable];
        if (has(slot))
            copy(slot, values[slot]);
        else if (external)
            lead(slot, view[slot]);
    }
}

void Exposed::rewrite(const std::vector<void*>& values, const std::vector<void*>* before) noexcept {
    for (std::uint32_t slot = 0; slot < at_.size(); ++slot)
        if (has(slot) && (before == nullptr || values[slot] != (*before)[slot])) copy(slot, values[slot]);
}

std::optional<std::uint32_t> Exposed::slot_of(std::uintptr_t option, void* const* view) const noexcept {
    for (std::uint32_t slot = 0; slot < at_.size(); ++slot)
        if (space_.regions()[slot].role == values::Role::option && space_.regions()[slot].scoped &&
            reinterpret_cast<std::uintptr_t>(view[slot]) == option)
            return slot;
    return std::nullopt;
}

std::map<std::uint32_t, values::Setting> Exposed::changes(const std::vector<void*>& values, void* const* view) const {
    std::map<std::uint32_t, values::Setting> found;
    const auto differs = [&](std::uint32_t slot) {
        return !values::same_state(space_.regions()[slot], view[slot], values[slot]);
    };
    for (std::uint32_t slot = 0; slot < at_.size(); ++slot) {
        const values::Region& region = space_.regions()[slot];
        if (!region.scoped || region.role != values::Role::option) continue;
        if (differs(slot) || (region.variable != values::no_slot && differs(region.variable)))
            found.emplace(slot, space_.clone(slot, view));
    }
    return found;
}

}  // namespace optctx::contexts

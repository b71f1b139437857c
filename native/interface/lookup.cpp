#include "interface/lookup.hpp"

#include "image/layouts.hpp"
#include "values/read_values.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace optctx::interface {
namespace {

// What an optctx_value points to if it is not a single plain item.
struct Owned {
    std::vector<values::Scalar> scalars;
    std::vector<optctx_item> items;
};

std::uintptr_t address_of(const contexts::Context* context, const Place& place) {
    if (context == nullptr || place.slot == values::no_slot) return place.live;
    return reinterpret_cast<std::uintptr_t>(context->address(place.slot)) + place.offset;
}

optctx_item named(const Choice& choice, std::uint64_t bits) {
    return {bits, 0.0, choice.name.c_str(), choice.name.size()};
}

optctx_item enumerator(const OptionEntry& entry, std::uint64_t stored) {
    const auto found = std::find_if(entry.choices.begin(), entry.choices.end(),
                                    [stored](const Choice& choice) { return choice.stored == stored; });
    return found == entry.choices.end() ? optctx_item{stored, 0.0, nullptr, 0} : named(*found, stored);
}

// The item's text still belongs to the scalar.
optctx_item item(const OptionEntry& entry, const values::Scalar& scalar) {
    if (entry.element_kind == values::Kind::enumeration) return enumerator(entry, std::get<std::uint64_t>(scalar));
    if (const auto* text = std::get_if<std::string>(&scalar)) {
        if (entry.element_kind == values::Kind::character)
            return {static_cast<unsigned char>(text->front()), 0.0, nullptr, 0};
        return {0, 0.0, text->c_str(), text->size()};
    }
    if (const auto* real = std::get_if<double>(&scalar)) return {0, *real, nullptr, 0};
    if (const auto* integer = std::get_if<std::int64_t>(&scalar))
        return {static_cast<std::uint64_t>(*integer), 0.0, nullptr, 0};
    if (const auto* truth = std::get_if<bool>(&scalar)) return {*truth, 0.0, nullptr, 0};
    return {std::get<std::uint64_t>(scalar), 0.0, nullptr, 0};
}

void hand_over(std::unique_ptr<Owned> owned, optctx_value& out) {
    out.items = owned->items.data();
    out.count = owned->items.size();
    out.owned = owned.release();
}

void read_several(const OptionEntry& entry, std::vector<values::Scalar> scalars, optctx_value& out) {
    auto owned = std::make_unique<Owned>();
    owned->scalars = std::move(scalars);
    for (const values::Scalar& scalar : owned->scalars) owned->items.push_back(item(entry, scalar));
    hand_over(std::move(owned), out);
}

void read_bits(const OptionEntry& entry, std::uintptr_t address, optctx_value& out) {
    const auto mask = std::get<std::uint64_t>(values::read_scalar(values::Kind::bits, address));
    auto owned = std::make_unique<Owned>();
    for (const Choice& choice : entry.choices)
        if (mask >> choice.stored & 1) owned->items.push_back(named(choice, choice.stored));
    hand_over(std::move(owned), out);
}

void read_single(const optctx_item& single, optctx_value& out) {
    out.single = single;
    out.items = &out.single;
    out.count = 1;
    out.owned = nullptr;
}

}  // namespace

void read_value(const contexts::Context* context, const OptionEntry& entry, optctx_value& out) {
    const std::uintptr_t address = address_of(context, entry.value);
    switch (entry.value_kind) {
        case values::Kind::list:
            return read_several(entry, values::read_list(entry.element_kind, entry.element_size, address), out);
        case values::Kind::set:
            return read_several(entry, values::read_set(address), out);
        case values::Kind::bits:
            return read_bits(entry, address, out);
        case values::Kind::string:
            return read_several(entry, {values::read_scalar(entry.value_kind, address)}, out);
        case values::Kind::enumeration:
            return read_single(enumerator(entry, values::read_integer(entry.size, address)), out);
        default:
            return read_single(item(entry, values::read_scalar(entry.value_kind, address)), out);
    }
}

void free_value(optctx_value& value) noexcept { delete static_cast<Owned*>(std::exchange(value.owned, nullptr)); }

std::uint32_t occurrences_of(const contexts::Context* context, const OptionEntry& entry) {
    return reinterpret_cast<const image::RawOption*>(address_of(context, entry.object))->occurrences;
}

}  // namespace optctx::interface

#include "values/space.hpp"

#include "image/layouts.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace optctx::values {
namespace {

using image::RawOption;
using image::RawStringRef;

views::PerImage<std::atomic<Space*>> spaces{};

}  // namespace

Space* space_of(unsigned image) noexcept { return spaces[image].load(std::memory_order_acquire); }

Space::Space(unsigned image, std::vector<Region> regions, std::uintptr_t add_occurrence, const Reporting& reporting,
             std::shared_ptr<const views::Layout> layout)
    : image_(views::checked_image(image)),
      regions_(std::move(regions)),
      add_occurrence_(add_occurrence),
      layout_(std::move(layout)),
      tap_(image, layout_, reporting) {
    for (std::uint32_t slot = 0; slot < regions_.size(); ++slot) {
        const Region& region = regions_[slot];
        defaults_.push_back(reinterpret_cast<void*>(region.live));
        views::identity_view(image_)[slot] = defaults_.back();
        if (region.scoped && region.role == Role::option) options_.push_back(slot);
    }
    by_address_ = options_;
    std::ranges::sort(by_address_, {}, [this](std::uint32_t slot) { return regions_[slot].live; });
    layout_->spread(views::identity_view(image_));
    build_defaults();
    last_view_ = defaults_;
    last_drift_ = std::make_shared<const Setting>();
    spaces[image_].store(this, std::memory_order_release);
}

void Space::scope_debugging(std::uint32_t debug, std::uint32_t debug_only, std::size_t type_size, Abi abi) {
    debugging_ = std::make_unique<Debugging>(image_, regions_, debug, debug_only, type_size, abi);
    const std::uint32_t types = debugging_->types_slot();
    defaults_[types] = Debugging::no_types();
    views::identity_view(image_)[types] = debugging_->types_outside();
    layout_->spread(views::identity_view(image_));
    last_view_ = defaults_;
}

void Space::copy_state(std::uint32_t slot) {
    const Region& region = regions_[slot];
    auto block = std::make_shared<Block>(region.size);
    std::memcpy(block->data(), reinterpret_cast<const void*>(region.live), region.size);
    if (region.initial_at + region.initial.size() > region.size)
        throw std::runtime_error("the initial bytes of a region reach past its end");
    std::copy(region.initial.begin(), region.initial.end(), block->data() + region.initial_at);
    defaults_[slot] = block->address();
    default_blocks_.push_back(std::move(block));
}

void Space::build_defaults() {
    for (const std::uint32_t slot : options_) {
        const Region& region = regions_[slot];
        const Setting copy = clone_process_wide(slot);
        for (const Patch& patch : copy) {
            default_blocks_.push_back(patch.block);
            defaults_[patch.slot] = patch.block->address();
        }
        void* object = copy.front().block->address();
        clear_occurrences(object);
        if (!region.has_default) continue;
        empty(copy);
        using SetDefault = void (*)(void*);
        const void* set_default = static_cast<RawOption*>(object)->vtable[region.set_default];
        reinterpret_cast<SetDefault>(const_cast<void*>(set_default))(object);
    }
    for (std::uint32_t slot = 0; slot < regions_.size(); ++slot)
        if (regions_[slot].role == Role::state) copy_state(slot);
}

// Copy the option with its current process-wide value. Call with the storage lock held.
Setting Space::clone_process_wide(std::uint32_t slot) const {
    const Region& region = regions_[slot];
    Setting setting{{slot, clone(region, live(slot))}};
    if (region.variable == no_slot) return setting;
    const bool by_types = lists_types(region.variable);
    setting.push_back({region.variable, by_types ? debugging_->process_wide_types()
                                                 : clone(regions_[region.variable], live(region.variable))});
    void* const variable = setting.back().block->address();
    std::memcpy(setting.front().block->data() + region.value_offset, &variable, sizeof variable);
    return setting;
}

// Make the value in a new copy the empty one.
void Space::empty(const Setting& copy) const {
    for (const Patch& patch : copy) {
        release_value(regions_[patch.slot], patch.block->address());
        clear_value(regions_[patch.slot], patch.block->address());
    }
}

// Whether LLVM may have kept an address into storage of this region: such storage is never freed.
static bool stays(const Region& region) noexcept { return region.escapes || region.ownership != Ownership::none; }

// Whether the region is the list of types of debug output, which `debug-only` sets in place of a variable.
bool Space::lists_types(std::uint32_t slot) const noexcept {
    return debugging_ != nullptr && slot == debugging_->types_slot();
}

// Keep storage that LLVM may have kept an address into. Call with the storage lock held: whoever makes a context, and
// code inside a scope that sets an option, may do so at the same time.
void Space::keep_what_stays(const Setting& setting) {
    for (const Patch& patch : setting)
        if (stays(regions_[patch.slot])) default_blocks_.push_back(patch.block);
}

std::optional<std::uint32_t> Space::slot_of(std::uintptr_t option) const noexcept {
    const auto address = [this](std::uint32_t slot) { return regions_[slot].live; };
    const auto at = std::ranges::lower_bound(by_address_, option, {}, address);
    if (at == by_address_.end() || regions_[*at].live != option) return std::nullopt;
    return *at;
}

Setting Space::parse(std::uint32_t slot, const Occurrences& values) {
    const Region& region = regions_.at(slot);
    if (!region.scoped || region.role != Role::option)
        throw std::runtime_error("the option in slot " + std::to_string(slot) + " has no storage of its own");
    const std::lock_guard lock(parse_mutex_);
    if (!stays(region)) return parse_locked(slot, values);
    // One copy for each value.
    const std::pair key{slot, values};
    const auto found = kept_.find(key);
    if (found != kept_.end()) return found->second;
    return kept_.emplace(key, parse_locked(slot, values)).first->second;
}

Setting Space::parse_locked(std::uint32_t slot, const Occurrences& values) {
    const Region& region = regions_[slot];
    os::ForkSafeLock storage(storage_mutex_);
    const views::LiveView cloning;
    Setting setting = clone_process_wide(slot);
    const bool by_types = lists_types(region.variable);
    if (!by_types) storage.unlock();
    void* object = setting.front().block->address();
    clear_occurrences(object);
    empty(setting);
    static_cast<RawOption*>(object)->occurrences = static_cast<std::uint16_t>(values.before);
    const auto give = [&] { give_occurrences(object, values.values, values.before); };
    if (by_types)
        setting.back().block = debugging_->parsed_types(give);
    else
        give();
    setting.front().block->given = values;
    return setting;
}

void Space::complain(std::uint32_t slot, Occurrences values) {
    const std::lock_guard lock(parse_mutex_);
    const Occurrence refused = std::move(values.values.back());
    values.values.pop_back();
    const Setting setting = parse_locked(slot, values);
    os::ForkSafeLock storage(storage_mutex_);
    keep_what_stays(setting);
    storage.unlock();
    const views::LiveView printing;
    add_occurrence(setting.front().block->address(), 1, refused);
}

bool Space::add_occurrence(void* option, unsigned position, const Occurrence& value) const {
    using AddOccurrence = bool (*)(void*, unsigned, RawStringRef, RawStringRef, bool);
    const auto call = reinterpret_cast<AddOccurrence>(add_occurrence_);
    const RawStringRef text =
        value.text ? RawStringRef{value.text->data(), value.text->size()} : RawStringRef{nullptr, 0};
    return call(option, position, {value.name.data(), value.name.size()}, text, false);
}

void Space::give_occurrences(void* option, const std::vector<Occurrence>& values, unsigned before) {
    tap_.open();
    const std::unique_ptr<Tap, void (*)(Tap*)> listening(&tap_, [](Tap* tap) { tap->close(); });
    unsigned position = before + 1;
    for (const Occurrence& value : values) {
        const bool refused = add_occurrence(option, position++, value);
        // Some parsers only print a message (x86-align-branch). A value with a message is refused, too.
        if (refused || !tap_.text().empty()) throw ParseError(tap_.text());
    }
}

bool Space::drifted(std::uint32_t slot, void* const* reference) const {
    const Region& region = regions_[slot];
    const auto differs = [&](std::uint32_t at) { return !same_state(regions_[at], live(at), reference[at]); };
    if (lists_types(region.variable)) return differs(slot) || !debugging_->is_process_wide(reference[region.variable]);
    return differs(slot) || (region.variable != no_slot && differs(region.variable));
}

std::shared_ptr<const Setting> Space::drift() {
    const std::lock_guard lock(storage_mutex_);
    const views::LiveView comparing;
    const auto flag = debugging_ == nullptr ? os::ForkSafeLock() : debugging_->hold();
    const auto changed = [&](std::uint32_t slot) { return drifted(slot, last_view_.data()); };
    if (std::ranges::none_of(options_, changed)) return last_drift_;
    auto drift = std::make_shared<Setting>();
    std::vector<void*> view = defaults_;
    for (const std::uint32_t slot : options_) {
        if (!drifted(slot, defaults_.data())) continue;
        for (Patch& patch : clone_process_wide(slot)) {
            view[patch.slot] = patch.block->address();
            drift->push_back(std::move(patch));
        }
    }
    keep_what_stays(*drift);
    last_view_ = std::move(view);
    last_drift_ = std::move(drift);
    return last_drift_;
}

os::ForkSafeLock Space::hold_for_parse(std::uintptr_t option) {
    const auto owns = [this](std::uint32_t at) {
        return at != no_slot && (lists_types(at) || regions_[at].ownership != Ownership::none);
    };
    const std::optional<std::uint32_t> slot = slot_of(option);
    if (!slot || !(owns(*slot) || owns(regions_[*slot].variable))) return {};
    return os::ForkSafeLock(storage_mutex_);
}

// Return LLVM's own storage of a region, or what stands in for it.
const void* Space::live(std::uint32_t slot) const noexcept {
    if (debugging_ != nullptr && slot == debugging_->flag_slot()) return debugging_->process_wide_flag();
    return reinterpret_cast<const void*>(regions_[slot].live);
}

}  // namespace optctx::values

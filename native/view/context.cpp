#include "view/context.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace optctx::view {

namespace {

// Idle activations kept in a process: about 70 KB each.
constexpr std::size_t kept_activations = 128;

ActivationPool& pool() {
    static auto* instance = new ActivationPool(kept_activations);  // outlives every thread
    return *instance;
}

}  // namespace

Context::Context(Space& space, std::shared_ptr<const Setting> base, Setting overrides,
                 std::shared_ptr<ProcessWide> process_wide)
    : space_(space), base_(std::move(base)), overrides_(std::move(overrides)), process_wide_(std::move(process_wide)) {}

Context::~Context() { pool().forget(this); }

void* Context::address(std::uint32_t slot) const {
    const auto find = [slot](const Setting& setting) {
        return std::find_if(setting.rbegin(), setting.rend(), [slot](const Patch& p) { return p.slot == slot; });
    };
    if (const auto found = find(overrides_); found != overrides_.rend()) return found->block->address();
    if (const auto found = find(*base_); found != base_->rend()) return found->block->address();
    return space_.defaults()[slot];
}

std::vector<void*> Context::values() const {
    std::vector<void*> values(space_.defaults(), space_.defaults() + space_.regions().size());
    for (const Patch& patch : *base_) values[patch.slot] = patch.block->address();
    for (const Patch& patch : overrides_) values[patch.slot] = patch.block->address();
    return values;
}

const std::string& Context::key() const {
    std::call_once(key_found_, [this] { key_ = find_key(); });
    return key_;
}

std::string Context::find_key() const {
    std::map<std::uint32_t, const void*> patched;
    for (const Patch& patch : *base_) patched[patch.slot] = patch.block->address();
    for (const Patch& patch : overrides_) patched[patch.slot] = patch.block->address();
    std::string key = "image " + std::to_string(space_.image()) + ":";
    for (const auto& [slot, address] : patched) {
        const Region& region = space_.regions()[slot];
        if (same_state(region, address, space_.defaults()[slot])) continue;
        key += std::to_string(slot) + ":";
        append_state(region, address, key);
    }
    return key;
}

ActivationPool::Node Context::acquire() {
    ActivationPool::Node node = pool().take(this);
    if (node.empty())
        node.push_back({this, std::make_unique<Activation>(space_, values())});
    else
        node.front().activation->reset();
    return node;
}

void Context::release(ActivationPool::Node activation) { pool().give(std::move(activation)); }

}  // namespace optctx::view

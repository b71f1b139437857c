#include "view/context.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace optctx::view {

namespace {

// Idle activations kept in a process: about 115 KB each.
constexpr std::size_t kept_activations = 128;

ActivationPool& pool() {
    static auto* instance = new ActivationPool(kept_activations);  // outlives every thread
    return *instance;
}

std::mutex& watch_mutex() {
    static auto* instance = new std::mutex;  // outlives every thread
    return *instance;
}

}  // namespace

void hold_contexts() {
    watch_mutex().lock();
    os::hold_handlers();  // which are changed with that mutex held
    pool().hold();
}

void release_contexts() {
    pool().release();
    os::release_handlers();
    watch_mutex().unlock();
}

Context::Context(Space& space, std::shared_ptr<const Setting> base, Setting overrides,
                 std::shared_ptr<ProcessWide> process_wide, std::shared_ptr<Reads> reads)
    : space_(space),
      base_(std::move(base)),
      overrides_(std::move(overrides)),
      process_wide_(std::move(process_wide)),
      reads_(std::move(reads)) {}

Context::~Context() { pool().forget(this); }

const Block* Context::block(std::uint32_t slot) const {
    const auto find = [slot](const Setting& setting) {
        return std::find_if(setting.rbegin(), setting.rend(), [slot](const Patch& p) { return p.slot == slot; });
    };
    if (const auto found = find(overrides_); found != overrides_.rend()) return found->block.get();
    if (const auto found = find(*base_); found != base_->rend()) return found->block.get();
    return nullptr;
}

void* Context::address(std::uint32_t slot) const {
    const Block* own = block(slot);
    return own != nullptr ? own->address() : space_.defaults()[slot];
}

std::string Context::text(std::uint32_t slot) const {
    const Block* own = block(slot);
    return own != nullptr ? own->text : std::string();
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

std::vector<std::uint32_t> Context::changed() const {
    std::map<std::uint32_t, const void*> patched;
    for (const Patch& patch : *base_) patched[patch.slot] = patch.block->address();
    for (const Patch& patch : overrides_) patched[patch.slot] = patch.block->address();
    std::vector<std::uint32_t> changed;
    for (const auto& [slot, address] : patched)
        if (!same_state(space_.regions()[slot], address, space_.defaults()[slot])) changed.push_back(slot);
    return changed;
}

std::string Context::find_key() const {
    std::string key = "image " + std::to_string(space_.image()) + ":";
    for (const std::uint32_t slot : changed()) {
        key += std::to_string(slot) + ":";
        append_state(space_.regions()[slot], address(slot), key);
    }
    return key;
}

ActivationPool::Node Context::acquire() {
    if (reads_ != nullptr) come_in();
    try {
        ActivationPool::Node node = pool().take(this);
        if (node.empty())
            node.push_back({this, std::make_unique<Activation>(space_, values(), this, reads_.get())});
        else
            node.front().activation->reset();
        return node;
    } catch (...) {
        if (reads_ != nullptr) go_out();
        throw;
    }
}

void Context::release(ActivationPool::Node activation) {
    pool().give(std::move(activation));
    if (reads_ != nullptr) go_out();
}

void Context::come_in() {
    const std::lock_guard lock(watch_mutex());
    if (inside_ == 0)
        handler_.emplace();
    else
        handler_->check();  // for this thread
    ++inside_;
}

void Context::go_out() {
    const std::lock_guard lock(watch_mutex());
    if (--inside_ == 0) handler_.reset();
}

void Context::hold() noexcept {
    const std::lock_guard lock(watch_mutex());
    ++held_;
}

void Context::let_go() noexcept {
    const std::lock_guard lock(watch_mutex());
    --held_;
}

std::optional<std::vector<std::uint32_t>> Context::take_reads() {
    const std::lock_guard lock(watch_mutex());
    if (reads_ == nullptr || inside_ > 0 || held_ > 0) return std::nullopt;
    const bool lost = reads_->lost();
    auto readers = reads_->readers();
    reads_->clear();
    if (lost) return std::nullopt;
    return readers;
}

}  // namespace optctx::view

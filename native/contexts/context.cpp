#include "contexts/context.hpp"

#include "contexts/activation.hpp"

#include <algorithm>
#include <utility>

namespace optctx::contexts {

namespace {

// Both outlive every thread.
auto& watch_mutex = *new os::ForkSafeMutex(os::Rank::contexts);
// Contexts with threads inside that mark reads; guarded by watch_mutex.
auto& watched = *new std::vector<Context*>;

}  // namespace

Context::Context(values::Space& space, std::shared_ptr<const values::Setting> base, values::Setting overrides,
                 std::shared_ptr<views::Reads> reads)
    : space_(space),
      base_(std::move(base)),
      overrides_(std::move(overrides)),
      reads_(std::move(reads)),
      prints_(decide_prints()) {}

Context::~Context() {
    forget_idle(*this);
    delete key_.load();
}

const values::Block* Context::block(std::uint32_t slot) const {
    for (const values::Setting* setting : {&overrides_, base_.get()}) {
        const auto found = std::find_if(setting->rbegin(), setting->rend(),
                                        [slot](const values::Patch& patch) { return patch.slot == slot; });
        if (found != setting->rend()) return found->block.get();
    }
    return nullptr;
}

// As on a command line, the last one counts of `debug` and of `debug-only` with any value but the empty one.
bool Context::decide_prints() const {
    const values::Debugging* debugging = space_.debugging();
    if (debugging == nullptr) return false;
    const auto is_on = [](const void* flag) { return *static_cast<const bool*>(flag); };
    for (auto patch = overrides_.rbegin(); patch != overrides_.rend(); ++patch) {
        if (patch->slot == debugging->flag_slot()) return is_on(patch->block->address());
        if (patch->slot != debugging->debug_only_slot()) continue;
        const std::vector<values::Occurrence>& given = patch->block->given.values;
        if (std::any_of(given.begin(), given.end(), [](const auto& each) { return each.text && !each.text->empty(); }))
            return true;
    }
    for (const values::Patch& patch : *base_)
        if (patch.slot == debugging->flag_slot()) return is_on(patch.block->address());
    return false;
}

std::shared_ptr<Context> Context::with(const values::Setting& setting) const {
    std::vector<bool> hidden(space_.regions().size());
    values::Setting overrides = overrides_;
    for (const values::Patch& patch : setting) {
        hidden[patch.slot] = true;
        std::erase_if(overrides, [&](const values::Patch& each) { return each.slot == patch.slot; });
        overrides.push_back(patch);
    }
    return std::make_shared<Context>(space_, base_, std::move(overrides), reads_without(hidden));
}

std::shared_ptr<Context> Context::with_registered_values() const {
    const std::vector<bool> all(space_.regions().size(), true);
    return std::make_shared<Context>(space_, std::make_shared<const values::Setting>(), values::Setting(),
                                     reads_without(all));
}

std::shared_ptr<views::Reads> Context::reads_without(const std::vector<bool>& slots) const {
    if (reads_ == nullptr) return nullptr;
    std::vector<bool> hides;
    for (const views::Reader& reader : space_.layout()->readers()) hides.push_back(slots[reader.slot]);
    return std::make_shared<views::Reads>(reads_, std::move(hides));
}

void* Context::address(std::uint32_t slot) const {
    if (const values::Debugging* debugging = space_.debugging(); debugging != nullptr && slot == debugging->flag_slot())
        return values::Debugging::shown_flag(prints_);
    const values::Block* own = block(slot);
    return own != nullptr ? own->address() : space_.defaults()[slot];
}

std::string Context::text(std::uint32_t slot) const {
    const values::Block* own = block(slot);
    return own != nullptr ? values::text_of(own->given) : std::string();
}

std::vector<void*> Context::values() const {
    std::vector<void*> values = own_values();
    if (const values::Debugging* debugging = space_.debugging()) {
        void*& types = values[debugging->types_slot()];
        types = debugging->shown_types(prints_, types);
    }
    return values;
}

std::vector<void*> Context::own_values() const {
    std::vector<void*> values(space_.defaults(), space_.defaults() + space_.regions().size());
    for (const values::Patch& patch : *base_) values[patch.slot] = patch.block->address();
    for (const values::Patch& patch : overrides_) values[patch.slot] = patch.block->address();
    if (const values::Debugging* debugging = space_.debugging())
        values[debugging->flag_slot()] = values::Debugging::shown_flag(prints_);
    return values;
}

const std::string& Context::key() const {
    if (const std::string* found = key_.load(std::memory_order_acquire)) return *found;
    auto found = std::make_unique<const std::string>(find_key());
    const std::string* first = nullptr;
    if (key_.compare_exchange_strong(first, found.get(), std::memory_order_acq_rel)) return *found.release();
    return *first;  // another thread was first
}

std::vector<std::uint32_t> Context::changed() const {
    const std::vector<void*> values = own_values();
    std::vector<std::uint32_t> changed;
    for (std::uint32_t slot = 0; slot < values.size(); ++slot) {
        const values::Region& region = space_.regions()[slot];
        const void* const registered = space_.defaults()[slot];
        if (region.scoped && values[slot] != registered && !values::same_state(region, values[slot], registered))
            changed.push_back(slot);
    }
    return changed;
}

std::string Context::find_key() const {
    std::string key = "image " + std::to_string(space_.image()) + ":";
    for (const std::uint32_t slot : changed()) {
        key += std::to_string(slot) + ":";
        values::append_state(space_.regions()[slot], address(slot), key);
    }
    return key;
}

void Context::come_in() {
    if (reads_ == nullptr && !prints_) return;
    const std::lock_guard lock(watch_mutex);
    if (reads_ != nullptr) {
        if (inside_ == 0) {
            watched.reserve(watched.size() + 1);
            handler_.emplace();
            watched.push_back(this);
        } else {
            views::check_handled();  // checks this thread
        }
        ++inside_;
    }
    if (prints_) space_.debugging()->raise();
}

void Context::go_out() {
    if (reads_ == nullptr && !prints_) return;
    const std::lock_guard lock(watch_mutex);
    if (prints_) space_.debugging()->lower();
    if (reads_ == nullptr || --inside_ > 0) return;
    handler_.reset();
    std::erase(watched, this);
}

void Context::count_threads_again(const std::function<std::size_t(const Context&)>& inside) noexcept {
    const std::lock_guard lock(watch_mutex);
    std::erase_if(watched, [&](Context* context) {
        context->inside_ = inside(*context);
        if (context->inside_ > 0) return false;
        context->handler_.reset();
        return true;
    });
}

void Context::hold() noexcept {
    const std::lock_guard lock(watch_mutex);
    ++held_;
}

void Context::let_go() noexcept {
    const std::lock_guard lock(watch_mutex);
    --held_;
}

std::optional<std::vector<std::uint32_t>> Context::take_reads() {
    const std::lock_guard lock(watch_mutex);
    if (reads_ == nullptr || inside_ > 0 || held_ > 0) return std::nullopt;
    const bool lost = reads_->lost();
    std::vector<std::uint32_t> taken = reads_->readers();
    reads_->clear();
    if (lost) return std::nullopt;
    return taken;
}

}  // namespace optctx::contexts

#include "view/context.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace optctx::view {

Activation::Activation(Space& space, const std::vector<void*>& values)
    : space_(space), view_(values), written_(space.take_written()) {
    std::memset(written_->data(), 0, space_.written_bytes());
    std::uint8_t* at = written_->data();
    for (const std::uint32_t slot : space.written()) {
        view_[slot] = at;
        at += padded(space.regions()[slot].size);
    }
}

Activation::~Activation() { space_.give_written(std::move(written_)); }

void Activation::reset(const Block& written) {
    // A value that owns something is shared with the template; LLVM gave the share back if it wrote another.
    std::uint8_t* mine = written_->data();
    std::uint8_t* pristine = written.data();
    for (const OwningPart& part : space_.written_owners())
        if (std::memcmp(mine + part.value_at, pristine + part.value_at, sizeof(void*)) != 0)
            share_value(space_.regions()[part.slot], pristine + part.object_at);
    std::memcpy(mine, pristine, space_.written_bytes());
    for (const WrittenPointer& pointer : space_.written_pointers()) {
        const void* target = static_cast<const std::uint8_t*>(view_[pointer.slot]) + pointer.offset;
        std::memcpy(mine + pointer.at, &target, sizeof target);
    }
}

Context::Context(Space& space, std::shared_ptr<const Setting> base, Setting overrides)
    : space_(space), base_(std::move(base)), overrides_(std::move(overrides)) {}

Context::~Context() = default;

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

std::unique_ptr<Block> Context::written_template(const std::vector<void*>& values) const {
    auto block = std::make_unique<Block>(space_.written_bytes());
    std::uint8_t* at = block->data();
    for (const std::uint32_t slot : space_.written()) {
        const std::size_t size = space_.regions()[slot].size;
        std::memcpy(at, values[slot], size);
        at += padded(size);
    }
    return block;
}

std::unique_ptr<Activation> Context::acquire() {
    std::unique_ptr<Activation> activation;
    {
        const std::lock_guard lock(mutex_);
        if (!written_) written_ = written_template(values());
        if (!idle_.empty()) {
            activation = std::move(idle_.back());
            idle_.pop_back();
        }
    }
    if (!activation) activation = std::make_unique<Activation>(space_, values());
    activation->reset(*written_);
    return activation;
}

void Context::release(std::unique_ptr<Activation> activation) noexcept {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(activation));
}

}  // namespace optctx::view

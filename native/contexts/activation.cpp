#include "contexts/activation.hpp"

#include "contexts/context.hpp"
#include "os/fork_locks.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace optctx::contexts {
namespace {

// Idle activations of the contexts of all images, oldest first.
struct Idle {
    static constexpr std::size_t most = 128;  // in the process, about 120 KB each
    os::ForkSafeMutex mutex{os::Rank::activations};
    std::vector<std::unique_ptr<Activation>> activations;
    Idle() { activations.reserve(most + 1); }
};

auto& idle = *new Idle;  // outlives every thread

// Return an idle activation of this context, or null.
std::unique_ptr<Activation> take(const Context& context) {
    const std::lock_guard lock(idle.mutex);
    // The newest are at the end, and a scope is usually re-entered soon.
    const auto found = std::find_if(idle.activations.rbegin(), idle.activations.rend(),
                                    [&](const auto& each) { return &each->entered() == &context; });
    if (found == idle.activations.rend()) return nullptr;
    std::unique_ptr<Activation> taken = std::move(*found);
    idle.activations.erase(std::next(found).base());
    return taken;
}

void keep(std::unique_ptr<Activation> activation) noexcept {
    const std::lock_guard lock(idle.mutex);
    idle.activations.push_back(std::move(activation));
    if (idle.activations.size() > Idle::most) idle.activations.erase(idle.activations.begin());
}

std::atomic<std::uint64_t> made_so_far{0};
constexpr unsigned entry_bits = 36;  // of the number of an entry, for those of one activation

}  // namespace

Activation::Activation(Context& context)
    : entered_(context),
      storage_(context.space(), context.values()),
      entry_((made_so_far.fetch_add(1) + 1) << entry_bits) {
    storage_.lead(context);
}

Activation::~Activation() {
    if (raises_flag_) entered_.space().debugging()->lower();
}

void Activation::reset() {
    storage_.reset();
    ++entry_;
    if (const views::Reads* reads = entered_.reads().get())
        entered_.space().layout()->poison(storage_.view(), reads, nullptr);
}

void Activation::adopt(std::shared_ptr<Context> context, Given given, bool fresh) {
    const std::vector<void*> values = context->values();
    const std::vector<void*> before = fresh ? std::vector<void*>() : shown().values();
    if (context->prints() && !raises_flag_) {
        entered_.space().debugging()->raise();
        raises_flag_ = true;
    }
    storage_.rewrite(values, fresh ? nullptr : &before);
    storage_.lead(*context);
    given_ = std::move(given);
    adopted_ = std::move(context);
    const unsigned image = entered_.space().image();
    const views::View view = storage_.view();
    if (views::view_read(image) != view && views::current_view(image) == view)
        views::set_current_view(image, view);  // a recorder shows a copy
}

std::optional<std::uint32_t> Activation::slot_of(std::uintptr_t option) const noexcept {
    if (const auto slot = entered_.space().slot_of(option)) return slot;
    return storage_.slot_of(option);
}

Activated acquire(Context& context) {
    context.come_in();
    try {
        std::unique_ptr<Activation> activation = take(context);
        if (activation != nullptr)
            activation->reset();
        else
            activation = std::make_unique<Activation>(context);
        return Activated(activation.release());
    } catch (...) {
        context.go_out();
        throw;
    }
}

void Release::operator()(Activation* activation) const noexcept {
    std::unique_ptr<Activation> own(activation);
    Context& context = own->entered();
    if (own->adopted() == nullptr) keep(std::move(own));
    own.reset();
    context.go_out();
}

void forget_idle(const Context& context) {
    const std::lock_guard lock(idle.mutex);
    std::erase_if(idle.activations, [&](const auto& each) { return &each->entered() == &context; });
}

}  // namespace optctx::contexts

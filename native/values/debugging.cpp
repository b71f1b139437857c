#include "values/debugging.hpp"

#include "values/epochs.hpp"
#include "views/view.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace optctx::values {
namespace {

using image::RawCowHeader;
using image::RawDebugType;
using image::RawManagedStatic;
using image::RawOption;

// A list with one type, without a level, whose name LLVM never uses, so no type matches. (An empty list would match
// every type.) LLVM only reads it, so all images share it.
struct Name {
    RawCowHeader header{1, 1, 0};
    char text[8] = {'\1'};
};
static_assert(offsetof(Name, text) == sizeof(RawCowHeader));
Name unused_name;
const RawDebugType only_type{unused_name.text, 0, false};
const void* end_of_only_type(std::size_t size) { return reinterpret_cast<const std::uint8_t*>(&only_type) + size; }

// Of all images: a flag is raised and lowered rarely. Outlives every thread.
auto& mutex = *new os::ForkSafeMutex(os::Rank::debugging);

views::PerImage<std::atomic<Debugging*>> all{};

}  // namespace

Debugging* debugging(unsigned image) noexcept { return all[image].load(std::memory_order_acquire); }

std::optional<bool> process_wide_flag(std::uintptr_t address) {
    for (unsigned image = 0; image < views::max_images; ++image) {
        const Debugging* instance = debugging(image);
        if (instance == nullptr || !instance->is_flag(address)) continue;
        const auto lock = instance->hold();
        return *static_cast<const bool*>(instance->process_wide_flag());
    }
    return std::nullopt;
}

void follow_debugging(unsigned image) noexcept {
    Debugging* instance = debugging(image);
    if (instance != nullptr && instance->may_lag()) instance->follow();
}

Debugging::Debugging(unsigned image, const Places& places)
    : image_(image),
      places_(places),
      nothing_{&only_type, end_of_only_type(places.type_size), end_of_only_type(places.type_size)},
      outside_(*reinterpret_cast<const RawManagedStatic*>(places.types)) {
    if (places.type_size > sizeof only_type) throw std::invalid_argument("a type of debug output is too large");
    all.at(image).store(this, std::memory_order_release);
}

os::ForkSafeLock Debugging::hold() const { return os::ForkSafeLock(mutex); }

void* Debugging::types(bool prints) const noexcept {
    return prints ? reinterpret_cast<void*>(places_.types) : const_cast<RawManagedStatic*>(&silent_);
}

// A thread that saw the flag raised may read the list only after the flag is lowered, so a silent list must stay in
// place.
void Debugging::let_outside(bool print) noexcept {
    const void* list = print ? reinterpret_cast<const RawManagedStatic*>(places_.types)->object : silent_.object;
    std::atomic_ref(outside_.object).store(list);
    may_lag_.store(!print || count_ > 0, std::memory_order_relaxed);
}

void Debugging::point_option_at(bool* flag) const noexcept { *reinterpret_cast<bool**>(places_.location) = flag; }

std::uint16_t Debugging::times_debug_only() const noexcept {
    return reinterpret_cast<const RawOption*>(places_.debug_only)->occurrences;
}

void Debugging::begin() noexcept {
    kept_ = *flag();
    times_ = times_debug_only();
    let_outside(kept_);  // before the raised flag makes threads read the list
    point_option_at(&kept_);
    std::atomic_ref(*flag()).store(true);
}

void Debugging::end() noexcept {
    follow_held();
    point_option_at(flag());
    std::atomic_ref(*flag()).store(kept_);
}

void Debugging::follow_held() noexcept {
    const bool ours = process_wide_epoch(image_) % 2 != 0;  // odd: a context has changed options, and will undo that
    if (!ours && times_debug_only() != times_) {
        kept_ = true;
        times_ = times_debug_only();
    }
    let_outside(kept_);
}

void Debugging::raise() noexcept {
    const std::lock_guard lock(mutex);
    if (count_++ == 0) begin();
}

void Debugging::lower() noexcept {
    const std::lock_guard lock(mutex);
    if (--count_ == 0) end();
}

void Debugging::raised_by(std::size_t count) noexcept {
    const std::lock_guard lock(mutex);
    const bool was_up = count_ > 0;
    count_ = count;
    if (was_up && count == 0) end();
}

void Debugging::follow() noexcept {
    const std::lock_guard lock(mutex);
    if (count_ > 0)
        follow_held();
    else if (*flag())
        let_outside(true);
}

}  // namespace optctx::values

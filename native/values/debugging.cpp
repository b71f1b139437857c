#include "values/debugging.hpp"

#include "values/strings.hpp"
#include "views/view.hpp"

#include <atomic>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

namespace optctx::values {
namespace {

using image::RawCowHeader;
using image::RawDebugLevel;
using image::RawManagedStatic;
using image::RawOption;

// A name that LLVM never uses, as the characters of a copy-on-write string.
struct Name {
    RawCowHeader header{1, 1, 0};
    char text[8] = {'\1'};
};
static_assert(offsetof(Name, text) == sizeof(RawCowHeader));
Name unused_name;

// A list with this type alone, without a level, so that no type matches. (An empty list would match every type.) LLVM
// only reads it, so all images share it: what comes after the first word matters where strings have a size of their
// own.
struct OnlyType {
    const char* name = unused_name.text;
    std::size_t size = 1;
    std::size_t capacity[2] = {1, 0};
    RawDebugLevel level{};
};
static_assert(offsetof(OnlyType, size) == offsetof(image::RawString, size));
static_assert(offsetof(OnlyType, capacity) == offsetof(image::RawString, capacity));
static_assert(offsetof(OnlyType, level) == sizeof(image::RawString));
const OnlyType only_type;
const void* end_of_only_type(std::size_t size) { return reinterpret_cast<const std::uint8_t*>(&only_type) + size; }

// A list of types of our own. LLVM finds it through the first member, and never constructs or destroys it.
struct alignas(16) Types {
    RawManagedStatic found{this->vector, nullptr, nullptr};
    const std::uint8_t* vector[3]{};  // begin, end, end of storage
};
static_assert(offsetof(Types, found) == 0);

std::span<const std::uint8_t> types_in(const RawManagedStatic& types) noexcept {
    const auto* vector = static_cast<const std::uint8_t* const*>(types.object);
    return {vector[0], vector[1]};
}

// Of all images: a flag is raised and lowered rarely. Outlives every thread.
auto& mutex = *new os::ForkSafeMutex(os::Rank::debugging);

views::PerImage<std::atomic<Debugging*>> all{};

}  // namespace

Debugging* debugging(unsigned image) noexcept { return all[image].load(std::memory_order_acquire); }

std::optional<bool> process_wide_flag(std::uintptr_t address) {
    for (unsigned image = 0; image < views::max_images; ++image) {
        Debugging* instance = debugging(image);
        if (instance == nullptr || !instance->is_flag(address)) continue;
        const auto lock = instance->hold();
        return *static_cast<const bool*>(instance->process_wide_flag());
    }
    return std::nullopt;
}

void follow_debugging(unsigned image) noexcept {
    if (Debugging* instance = debugging(image)) instance->follow();
}

Debugging::Debugging(unsigned image, const std::vector<Region>& regions, std::uint32_t debug, std::uint32_t debug_only,
                     std::size_t type_size, Abi abi)
    : flag_slot_(regions.at(debug).variable),
      debug_only_slot_(debug_only),
      types_slot_(regions.at(debug_only).variable),
      flag_(reinterpret_cast<bool*>(regions.at(flag_slot_).live)),
      option_flag_(*reinterpret_cast<bool**>(regions[debug].live + regions[debug].value_offset)),
      llvms_types_(*reinterpret_cast<RawManagedStatic*>(regions.at(types_slot_).live)),
      debug_only_(*reinterpret_cast<const RawOption*>(regions[debug_only].live)),
      type_size_(type_size),
      abi_(abi),
      nothing_{&only_type, end_of_only_type(type_size), end_of_only_type(type_size)},
      outside_(llvms_types_) {
    if (type_size > sizeof only_type) throw std::invalid_argument("a type of debug output is too large");
    all.at(image).store(this, std::memory_order_release);
}

os::ForkSafeLock Debugging::hold() noexcept {
    os::ForkSafeLock lock(mutex);
    if (count_ > 0) follow_held();
    return lock;
}

void* Debugging::shown_flag(bool prints) noexcept {
    static bool flags[] = {false, true};
    return &flags[prints];
}

void* Debugging::shown_types(bool prints, void* types) const noexcept {
    return prints ? types : const_cast<RawManagedStatic*>(&silent_);
}

void* Debugging::no_types() noexcept {
    static Types none;
    return &none;
}

std::shared_ptr<Block> Debugging::parsed_types(const std::function<void()>& parse) {
    auto block = std::make_shared<Block>(sizeof(Types));
    const auto* types = new (block->data()) Types;
    // LLVM's parser raises the flag as well.
    struct InPlaceOfLlvms {
        Debugging& debugging;
        const void* llvms;
        InPlaceOfLlvms(Debugging& of, const void* types) : debugging(of) {
            if (debugging.count_ == 0) debugging.begin();
            llvms = std::exchange(debugging.llvms_types_.object, types);
        }
        ~InPlaceOfLlvms() {
            debugging.llvms_types_.object = llvms;
            if (debugging.count_ == 0) debugging.end();
        }
    };
    const std::lock_guard lock(mutex);
    const InPlaceOfLlvms in_place(*this, types->found.object);
    parse();
    return block;
}

std::shared_ptr<Block> Debugging::process_wide_types() const {
    auto block = std::make_shared<Block>(sizeof(Types));
    auto* types = new (block->data()) Types;
    const std::span<const std::uint8_t> elements = types_in(llvms_types_);
    if (elements.empty()) return block;
    auto* copy = static_cast<std::uint8_t*>(::operator new(elements.size()));
    std::memcpy(copy, elements.data(), elements.size());
    types->vector[0] = copy;
    types->vector[1] = types->vector[2] = copy + elements.size();
    for (std::size_t at = 0; at < elements.size(); at += type_size_) {
        String(abi_, copy + at).relocate({abi_, elements.data() + at});
        share_string({abi_, copy + at});
    }
    return block;
}

bool Debugging::is_process_wide(const void* types) const noexcept {
    const auto ours = types_in(*static_cast<const RawManagedStatic*>(types));
    const auto llvms = types_in(llvms_types_);
    if (ours.size() != llvms.size()) return false;
    for (std::size_t at = 0; at < ours.size(); at += type_size_)
        if (!same_type(ours.data() + at, llvms.data() + at)) return false;
    return true;
}

bool Debugging::same_type(const std::uint8_t* a, const std::uint8_t* b) const noexcept {
    const std::size_t string = String::bytes(abi_);
    if (!(String(abi_, a) == String(abi_, b))) return false;
    if (type_size_ == string) return true;
    const auto* left = reinterpret_cast<const RawDebugLevel*>(a + string);
    const auto* right = reinterpret_cast<const RawDebugLevel*>(b + string);
    return left->is_given == right->is_given && (!left->is_given || left->level == right->level);
}

// A thread that saw the flag raised may read the list only after the flag is lowered, so a silent list must stay in
// place.
void Debugging::let_outside(bool print) noexcept {
    const void* list = print ? llvms_types_.object : silent_.object;
    std::atomic_ref(outside_.object).store(list);
    may_lag_.store(!print || count_ > 0, std::memory_order_relaxed);
}

void Debugging::begin() noexcept {
    kept_ = *flag_;
    times_ = debug_only_.occurrences;
    let_outside(kept_);  // before the raised flag makes threads read the list
    option_flag_ = &kept_;
    std::atomic_ref(*flag_).store(true);
}

void Debugging::end() noexcept {
    follow_held();
    option_flag_ = flag_;
    std::atomic_ref(*flag_).store(kept_);
}

void Debugging::follow_held() noexcept {
    if (debug_only_.occurrences != times_) {
        kept_ = true;
        times_ = debug_only_.occurrences;
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
    if (!may_lag_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex);
    if (count_ > 0)
        follow_held();
    else if (*flag_)
        let_outside(true);
}

}  // namespace optctx::values

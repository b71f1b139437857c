#include "intercept/machine_copies.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace optctx::machine {
namespace {

constexpr std::size_t most_of_triple = 256;  // bytes, more than an llvm::Triple takes
constexpr std::size_t scratch_size = 8192;   // bytes, more than the base class of a machine takes
using Scratch = std::array<std::uint8_t, scratch_size>;

std::unique_ptr<Scratch> scratch(int fill) {
    auto made = std::make_unique<Scratch>();
    made->fill(static_cast<std::uint8_t>(fill));
    return made;
}

// Returns the bits that a setter of machines can change.
std::vector<Bits> bits_of(LlvmCalls::Set* set) {
    auto changed = scratch(0);
    for (const int fill : {0x00, 0xFF}) {
        for (const std::int32_t value : {0, 1, 2}) {
            const auto machine = scratch(fill);
            set(machine->data(), value);
            for (std::size_t at = 0; at < scratch_size; ++at)
                (*changed)[at] |= static_cast<std::uint8_t>((*machine)[at] ^ fill);
        }
    }
    std::vector<Bits> bits;
    for (std::size_t at = 0; at < scratch_size; ++at)
        if ((*changed)[at] != 0) bits.push_back({at, (*changed)[at]});
    return bits;
}

void copy_bits(const std::vector<Bits>& bits, const std::uint8_t* from, std::uint8_t* to) {
    for (const auto& [at, mask] : bits) to[at] = static_cast<std::uint8_t>((to[at] & ~mask) | (from[at] & mask));
}

}  // namespace

Facts::Facts(LlvmCalls calls) : llvm_(std::move(calls)) {
    // Where LLVM's constructor is inline in all its callers, strings have a layout in which zeros are an empty one.
    const auto defaults = scratch(0);
    if (llvm_.default_options != nullptr) llvm_.default_options(defaults->data());
    find_options(defaults->data());
    find_models(defaults->data());
    verbosity_ = bits_of(llvm_.set_verbosity);
    if (verbosity_.size() != 1)
        throw std::runtime_error("expected LLVMSetTargetMachineAsmVerbosity to change one byte, found " +
                                 std::to_string(verbosity_.size()));
    for (const auto set : llvm_.set_selection) {
        const auto bits = bits_of(set);
        selection_.insert(selection_.end(), bits.begin(), bits.end());
    }
}

void Facts::construct(std::uint8_t* machine, const void* options) const {
    llvm_.construct(machine, machine, {"", 0}, triple(""), {"", 0}, {"", 0}, options);
}

// The options begin where a copy of their first byte is, which holds flags, whatever it holds. The base class ends
// with the last byte that its constructor writes.
void Facts::find_options(std::uint8_t* defaults) {
    const std::uint8_t flags = *defaults;
    std::vector<bool> follows(scratch_size, true);
    for (const int pattern : {0x00, 0xFF, 0x5A, 0xC3, 0x0F}) {
        const auto made = scratch(pattern == 0 ? 0xFF : 0);
        *defaults = static_cast<std::uint8_t>(pattern);
        construct(made->data(), defaults);
        for (std::size_t at = 0; at < scratch_size; ++at) {
            if ((*made)[at] != pattern) follows[at] = false;
            if ((*made)[at] != (pattern == 0 ? 0xFF : 0)) size_ = std::max(size_, at + 1);
        }
        llvm_.destroy(made->data());
    }
    *defaults = flags;
    if (std::ranges::count(follows, true) != 1 || size_ == scratch_size)
        throw std::runtime_error("expected one llvm::TargetOptions in a TargetMachine, found " +
                                 std::to_string(std::ranges::count(follows, true)));
    options_ = static_cast<std::size_t>(std::ranges::find(follows, true) - follows.begin());
}

void Facts::find_models(const std::uint8_t* defaults) {
    static constexpr std::array<std::array<std::int32_t, 3>, 4> tried{{{1, 3, 0}, {2, 0, 3}, {5, 4, 1}, {0, 1, 2}}};
    std::array<std::vector<std::size_t>, 3> found;
    for (auto& each : found)
        for (std::size_t at = 0; at < size_; at += sizeof(std::int32_t)) each.push_back(at);
    for (const auto& values : tried) {
        const auto made = scratch(0);
        llvm_.construct_target(made->data(), made->data(), {"", 0}, triple(""), {"", 0}, {"", 0}, defaults, values[0],
                               values[1], values[2]);
        for (std::size_t i = 0; i < found.size(); ++i)
            std::erase_if(found[i], [&](std::size_t at) { return field(made->data(), at) != values[i]; });
        llvm_.destroy(made->data());
    }
    for (const auto& each : found)
        if (each.size() != 1)
            throw std::runtime_error("expected one place for each model and the level in a TargetMachine, found " +
                                     std::to_string(each.size()));
    reloc_ = found[0].front();
    code_ = found[1].front();
    level_ = found[2].front();
}

std::int32_t Facts::field(const void* machine, std::size_t at) noexcept {
    std::int32_t value = 0;
    std::memcpy(&value, static_cast<const std::uint8_t*>(machine) + at, sizeof value);
    return value;
}

// Each llvm::Triple is made once and kept: there are few.
const void* Facts::triple(const std::string& text) const {
    const std::lock_guard lock(triples_mutex_);
    auto& found = triples_[text];
    if (found == nullptr) {
        found = std::make_unique<std::uint8_t[]>(most_of_triple);
        llvm_.make_triple(found.get(), Twine{text.c_str()});
    }
    return found.get();
}

std::shared_ptr<void> Facts::copy_options(const void* options) const {
    auto machine = std::make_unique<std::uint8_t[]>(size_);
    construct(machine.get(), options);
    const auto destroy = [this](std::uint8_t* each) {
        llvm_.destroy(each);
        delete[] each;
    };
    const std::shared_ptr<std::uint8_t> owner(machine.release(), destroy);
    return {owner, owner.get() + options_};
}

std::shared_ptr<void> Facts::options_of(const void* machine) const {
    if (llvm_.default_options == nullptr)
        throw std::runtime_error(
            "expected a target machine that was made after optctx attached, found an older one, "
            "and this LLVM does not tell its options; call optctx.attach() first");
    auto options = copy_options(static_cast<const std::uint8_t*>(machine) + options_);
    const auto defaults = scratch(0);
    llvm_.default_options(defaults->data());
    const auto unchanged = copy_options(defaults->data());
    std::vector<Bits> inside;
    for (const Bits& bits : selection_)
        if (bits.at >= options_) inside.push_back({bits.at - options_, bits.mask});
    copy_bits(inside, static_cast<const std::uint8_t*>(unchanged.get()), static_cast<std::uint8_t*>(options.get()));
    return options;
}

void Facts::complete(const void* machine, Made& made) const {
    if (!made.options) made.options = options_of(machine);
    if (!made.level) made.level = level(machine);
    if (!made.jit) made.jit = made_for_jit(machine, made);
}

// The flag is a byte that is set in machines made for a JIT and clear in machines made alike without a JIT. A match
// with memory that no constructor wrote does no harm: the relocation and code models, which some targets choose for a
// JIT, must be equal as well.
bool Facts::made_for_jit(const void* machine, Made like) const {
    static constexpr std::array<bool, 4> for_jit{false, true, true, false};
    using Machine = std::unique_ptr<std::uint8_t, void (*)(void*)>;
    std::vector<Machine> made;
    std::size_t size = malloc_usable_size(const_cast<void*>(machine));
    for (const bool jit : for_jit) {
        Machine& each = made.emplace_back(nullptr, llvm_.dispose);
        like.jit = jit;
        each.reset(static_cast<std::uint8_t*>(make_like(machine, like)));
        size = std::min(size, malloc_usable_size(each.get()));
    }
    const auto is_flag = [&](std::size_t at) {
        for (std::size_t i = 0; i < made.size(); ++i)
            if (made[i].get()[at] != for_jit[i]) return false;
        return true;
    };
    bool found = false;
    for (std::size_t at = sizeof(void*); at < size && !found; ++at)
        found = is_flag(at) && static_cast<const std::uint8_t*>(machine)[at] == 1;
    return found && field(made[1].get(), reloc_) == field(machine, reloc_) &&
           field(made[1].get(), code_) == field(machine, code_);
}

// What follows the target in memory may be another one, which is registered if it has a maker.
LlvmCalls::Create* Facts::maker_of(const void* target) const {
    static constexpr std::uintptr_t most_bytes = 512;  // more than an llvm::Target has
    const auto begin = reinterpret_cast<std::uintptr_t>(target);
    std::uintptr_t end = std::min(begin + most_bytes, llvm_.end);
    for (const void* other = llvm_.first_target(); other != nullptr; other = llvm_.next_target(other))
        if (const auto at = reinterpret_cast<std::uintptr_t>(other); at > begin) end = std::min(end, at);
    for (std::uintptr_t at = begin; at + sizeof at <= end; at += sizeof at)
        if (const auto word = *reinterpret_cast<const std::uintptr_t*>(at);
            std::ranges::binary_search(llvm_.makers, word))
            return intercept::Address{word};
    throw std::runtime_error("expected a target that makes its machines by llvm::RegisterTargetMachine, found another");
}

void* Facts::make_like(const void* machine, const Made& made) const {
    using Owned = std::unique_ptr<char, decltype(&std::free)>;
    const auto text = [](const Owned& owned) { return Text{owned.get(), std::strlen(owned.get())}; };
    const Owned name(llvm_.triple(machine), &std::free);
    const Owned cpu(llvm_.cpu(machine), &std::free);
    const Owned features(llvm_.features(machine), &std::free);
    const void* target = llvm_.target(machine);
    void* result = maker_of(target)(target, triple(name.get()), text(cpu), text(features), made.options.get(),
                                    OptionalModel{field(machine, reloc_), true},
                                    OptionalModel{field(machine, code_), true}, *made.level, *made.jit);
    if (result == nullptr) throw std::runtime_error("LLVM makes no machine like the one in use");
    std::unique_ptr<void, void (*)(void*)> owned(result, llvm_.dispose);
    if (const Owned now(llvm_.triple(result), &std::free); std::strcmp(now.get(), name.get()) != 0)
        throw std::runtime_error("expected a target machine for " + std::string(name.get()) + ", found one for " +
                                 now.get());
    const std::string before = layout(machine);
    const std::string now = layout(result);
    if (now == before) return owned.release();
    throw std::runtime_error("expected a target machine with the data layout \"" + before +
                             "\", found that the options of this thread make it \"" + now +
                             "\", which this LLVM does not see; make the machine inside the scope");
}

std::string Facts::layout(const void* machine) const {
    if (llvm_.create_layout == nullptr) return {};
    const std::unique_ptr<void, void (*)(void*)> data(llvm_.create_layout(machine), llvm_.dispose_layout);
    const std::unique_ptr<char, decltype(&std::free)> text(llvm_.layout_text(data.get()), &std::free);
    return text.get();
}

void Facts::carry(const void* from, void* to) const {
    copy_bits(verbosity_, static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to));
}

}  // namespace optctx::machine

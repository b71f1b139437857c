#include "intercept/machine_copies.hpp"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace optctx::machine {
namespace {

constexpr std::size_t scratch_size = 8192;  // bytes, more than the base class of a machine takes
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

std::size_t size_of_options(const LlvmCalls& llvm) {
    std::size_t size = 0;
    for (const int fill : {0x00, 0xFF}) {
        const auto options = scratch(fill);
        llvm.default_options(options->data());
        for (std::size_t at = 0; at < scratch_size; ++at)
            if ((*options)[at] != fill) size = std::max(size, at + 1);
        llvm.destroy_options(options->data());
    }
    return (size + 7) / 8 * 8;
}

void copy_bits(const std::vector<Bits>& bits, const std::uint8_t* from, std::uint8_t* to) {
    for (const auto& [at, mask] : bits) to[at] = static_cast<std::uint8_t>((to[at] & ~mask) | (from[at] & mask));
}

}  // namespace

Options::Options(const LlvmCalls& llvm, const void* options) : llvm_(llvm), bytes_(new std::uint8_t[room]()) {
    llvm_.copy_options(bytes_.get(), options);
}

Options::~Options() { llvm_.destroy_options(bytes_.get()); }

Facts::Facts(const LlvmCalls& calls) : llvm_(calls) {
    options_size_ = size_of_options(llvm_);
    if (options_size_ < 64 || options_size_ > Options::room)
        throw std::runtime_error("expected llvm::TargetOptions of 64 to 1024 bytes, found " +
                                 std::to_string(options_size_));
    verbosity_ = bits_of(llvm_.set_verbosity);
    if (verbosity_.size() != 1)
        throw std::runtime_error("expected LLVMSetTargetMachineAsmVerbosity to change one byte, found " +
                                 std::to_string(verbosity_.size()));
    for (const auto set : llvm_.set_selection) {
        const auto bits = bits_of(set);
        selection_.insert(selection_.end(), bits.begin(), bits.end());
    }
}

// Returns where a machine stores the options it was given: the offset to which the base class's constructor copies
// them.
std::size_t Facts::options_offset(const void* machine) const {
    const auto defaults = scratch(0);
    const auto made = scratch(0);
    llvm_.default_options(defaults->data());
    llvm_.construct(made->data(), llvm_.target(machine), {"", 0}, llvm_.triple(machine), {"", 0}, {"", 0},
                    defaults->data());
    std::vector<std::size_t> found;
    for (std::size_t at = 8; at + options_size_ <= scratch_size; at += 8)
        if (std::memcmp(made->data() + at, defaults->data(), options_size_) == 0) found.push_back(at);
    llvm_.destroy(made->data());
    llvm_.destroy_options(defaults->data());
    if (found.size() != 1)
        throw std::runtime_error("expected one llvm::TargetOptions in a TargetMachine, found " +
                                 std::to_string(found.size()));
    return found.front();
}

std::shared_ptr<const Options> Facts::options_of(const void* machine) const {
    const std::size_t offset = options_offset(machine);
    auto options = std::make_shared<Options>(llvm_, static_cast<const std::uint8_t*>(machine) + offset);
    const auto defaults = scratch(0);
    llvm_.default_options(defaults->data());
    std::vector<Bits> inside;
    for (const Bits& bits : selection_)
        if (bits.at >= offset && bits.at - offset < options_size_) inside.push_back({bits.at - offset, bits.mask});
    copy_bits(inside, defaults->data(), static_cast<std::uint8_t*>(options->address()));
    llvm_.destroy_options(defaults->data());
    return options;
}

void Facts::complete(const void* machine, Made& made) const {
    if (!made.options) made.options = options_of(machine);
    if (!made.level) made.level = llvm_.opt_level(machine);
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
    return found && llvm_.reloc_model(made[1].get()) == llvm_.reloc_model(machine) &&
           llvm_.code_model(made[1].get()) == llvm_.code_model(machine);
}

void* Facts::make_like(const void* machine, const Made& made) const {
    using Owned = std::unique_ptr<char, decltype(&std::free)>;
    const Owned features(llvm_.features(machine), &std::free);
    const auto create = [&](auto* function, auto triple) {
        return function(llvm_.target(machine), triple, llvm_.cpu(machine),
                        Text{features.get(), std::strlen(features.get())}, made.options->address(),
                        OptionalModel{llvm_.reloc_model(machine), true}, OptionalModel{llvm_.code_model(machine), true},
                        *made.level, *made.jit);
    };
    void* result = nullptr;
    if (llvm_.create_by_text == nullptr) {
        result = create(llvm_.create_by_triple, llvm_.triple(machine));
    } else {
        const Owned triple(llvm_.triple_text(machine), &std::free);
        result = create(llvm_.create_by_text, Text{triple.get(), std::strlen(triple.get())});
    }
    if (result == nullptr) throw std::runtime_error("LLVM makes no machine like the one in use");
    return result;
}

void Facts::carry(const void* from, void* to) const {
    copy_bits(verbosity_, static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to));
}

}  // namespace optctx::machine

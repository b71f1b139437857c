// LLVM's TargetMachine, as far as copying one requires: its parts through LLVM's own functions, and what no function
// returns through experiments on the image itself.
#pragma once

#include "intercept/named_calls.hpp"
#include "os/fork_locks.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace optctx::machine {

// llvm::StringRef and std::optional of an enum, as LLVM's functions pass and return them.
struct Text {
    const char* data;
    std::size_t size;
};
struct OptionalModel {
    std::int32_t value;
    bool engaged;
};
// llvm::Twine of one text that ends with a zero.
struct Twine {
    const char* text;
    std::array<const void*, 3> unused{};
    std::uint8_t kind = 3;       // CStringKind
    std::uint8_t none_kind = 1;  // EmptyKind
};

// LLVM's functions in the image, under the names of optctx/image/facts/machines.py. Making it throws std::out_of_range
// if one is missing.
struct LlvmCalls {
    using Set = void(void* machine, std::int32_t value);
    using Create = void*(const void* target, const void* triple, Text cpu, Text features, const void* options,
                         OptionalModel reloc, OptionalModel code, std::int32_t level, bool jit);
    intercept::NamedCalls calls;
    std::vector<std::uintptr_t> makers;  // of type Create, sorted; a Target has a pointer to its own
    std::uintptr_t end;                  // of the library in memory

    void (*dispose)(void* machine) = calls["dispose"];
    // These two are of the base class only.
    void (*construct)(void* machine, const void* target, Text layout, const void* triple, Text cpu, Text features,
                      const void* options) = calls["construct"];
    void (*destroy)(void* machine) = calls["destroy"];
    // Of the class that every target's machines derive from.
    void (*construct_target)(void* machine, const void* target, Text layout, const void* triple, Text cpu,
                             Text features, const void* options, std::int32_t reloc, std::int32_t code,
                             std::int32_t level) = calls["construct_target"];
    void (*make_triple)(void* triple, const Twine& text) = calls["make_triple"];
    const void* (*first_target)() = calls["first_target"];
    const void* (*next_target)(const void* target) = calls["next_target"];
    const void* (*target)(const void* machine) = calls["target"];
    char* (*triple)(const void* machine) = calls["triple"];      // malloc'ed
    char* (*cpu)(const void* machine) = calls["cpu"];            // malloc'ed
    char* (*features)(const void* machine) = calls["features"];  // malloc'ed
    // Null in a build that makes such options only inline.
    void (*default_options)(void* options) = calls.or_null("default_options");
    void (*reset_options)(const void* machine, const void* function) = calls.or_null("reset_options");
    Set* set_verbosity = calls["set_verbosity"];
    // Null where calls that ask for a machine's layout are intercepted: then machines in use may have another layout
    // than the one that they stand for.
    void* (*create_layout)(const void* machine) = calls.or_null("create_layout");
    char* (*layout_text)(const void* layout) = create_layout == nullptr ? intercept::Address{} : calls["layout_text"];
    void (*dispose_layout)(void* layout) = create_layout == nullptr ? intercept::Address{} : calls["dispose_layout"];
    // These set what the code generator also sets.
    std::array<Set*, 4> set_selection{calls["set_fast_isel"], calls["set_global_isel"], calls["set_global_isel_abort"],
                                      calls["set_machine_outliner"]};
};

// How a machine was made, as far as that is known.
struct Made {
    std::shared_ptr<const void> options{};  // a copy of the llvm::TargetOptions that the program passed
    // Whether it was made for a JIT. Some targets store that, but no function returns it.
    std::optional<bool> jit{};
    // Of optimisation, before its first use: LLVM lowers it while it works on some functions.
    std::optional<std::int32_t> level{};
};

// Bits in one byte of a machine.
struct Bits {
    std::size_t at;
    std::uint8_t mask;
};

// Layout facts, found by running LLVM's functions on scratch memory. Throws std::runtime_error that names the failed
// check.
class Facts {
public:
    explicit Facts(LlvmCalls calls);

    const LlvmCalls& llvm() const noexcept { return llvm_; }
    std::int32_t level(const void* machine) const noexcept { return field(machine, level_); }
    // Adds to `made` what is not known of how `machine` was made. Throws like `make_like`.
    void complete(const void* machine, Made& made) const;
    // Makes a machine from what `machine` was made from and from `made`, which is complete. Throws std::runtime_error
    // if LLVM refuses, or if the layout differs and LLVM would not see that.
    void* make_like(const void* machine, const Made& made) const;
    // Copies the llvm::TargetOptions at `options`, in a machine of the base class: LLVM copies them nowhere else in
    // every build.
    std::shared_ptr<void> copy_options(const void* options) const;
    // Returns the options as the program passed them, except those that LLVM changed from option values while it made
    // `machine`. For a machine made before optctx attached. Throws std::runtime_error if they cannot be told.
    std::shared_ptr<void> options_of(const void* machine) const;
    // Copies the verbosity, which can change at any time, from one machine to another.
    void carry(const void* from, void* to) const;

private:
    static std::int32_t field(const void* machine, std::size_t at) noexcept;
    void find_options(std::uint8_t* defaults);
    void find_models(const std::uint8_t* defaults);
    void construct(std::uint8_t* machine, const void* options) const;
    const void* triple(const std::string& text) const;
    LlvmCalls::Create* maker_of(const void* target) const;
    std::string layout(const void* machine) const;  // empty if it does not count
    bool made_for_jit(const void* machine, Made made) const;

    LlvmCalls llvm_;
    std::size_t size_ = 0;                                        // of the base class, in bytes
    std::size_t options_ = 0, reloc_ = 0, code_ = 0, level_ = 0;  // where a machine has them
    std::vector<Bits> verbosity_;
    mutable os::ForkSafeMutex triples_mutex_{os::Rank::triples};
    mutable std::map<std::string, std::unique_ptr<std::uint8_t[]>> triples_;
    std::vector<Bits> selection_;  // of the options, where the code generator says how it selects instructions
};

}  // namespace optctx::machine

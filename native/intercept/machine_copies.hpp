// LLVM's TargetMachine, as far as copying one requires: its parts through LLVM's own functions, and what no function
// returns through experiments on the image itself.
#pragma once

#include "intercept/named_calls.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

// LLVM's functions in the image, under the names of optctx/image/facts/machines.py. Making it throws std::out_of_range
// if one is missing.
struct LlvmCalls {
    using Set = void(void* machine, std::int32_t value);
    intercept::NamedCalls calls;

    // LLVM creates a machine from an llvm::Triple or from its text: one of the two is null.
    void* (*create_by_text)(const void* target, Text triple, Text cpu, Text features, const void* options,
                            OptionalModel reloc, OptionalModel code, std::int32_t level,
                            bool jit) = calls.or_null("create_by_text");
    void* (*create_by_triple)(const void* target, const void* triple, Text cpu, Text features, const void* options,
                              OptionalModel reloc, OptionalModel code, std::int32_t level,
                              bool jit) = create_by_text == nullptr ? calls["create_by_triple"] : intercept::Address{};
    void (*dispose)(void* machine) = calls["dispose"];
    // These two are of the base class only.
    void (*construct)(void* machine, const void* target, Text layout, const void* triple, Text cpu, Text features,
                      const void* options) = calls["construct"];
    void (*destroy)(void* machine) = calls["destroy"];
    const void* (*target)(const void* machine) = calls["target"];
    const void* (*triple)(const void* machine) = calls["triple"];
    char* (*triple_text)(const void* machine) = calls["triple_text"];  // malloc'ed
    Text (*cpu)(const void* machine) = calls["cpu"];
    char* (*features)(const void* machine) = calls["features"];  // malloc'ed
    std::int32_t (*reloc_model)(const void* machine) = calls["reloc_model"];
    std::int32_t (*code_model)(const void* machine) = calls["code_model"];
    std::int32_t (*opt_level)(const void* machine) = calls["opt_level"];
    void (*default_options)(void* options) = calls["default_options"];
    void (*copy_options)(void* options, const void* other) = calls["copy_options"];
    void (*destroy_options)(void* options) = calls["destroy_options"];
    void (*reset_options)(const void* machine, const void* function) = calls["reset_options"];
    Set* set_verbosity = calls["set_verbosity"];
    // These set what the code generator also sets.
    std::array<Set*, 4> set_selection{calls["set_fast_isel"], calls["set_global_isel"], calls["set_global_isel_abort"],
                                      calls["set_machine_outliner"]};
};

// Owns an llvm::TargetOptions.
class Options {
public:
    // Copies the llvm::TargetOptions at `options`.
    Options(const LlvmCalls& llvm, const void* options);
    Options(const Options&) = delete;
    Options& operator=(const Options&) = delete;
    ~Options();
    void* address() const noexcept { return bytes_.get(); }
    static constexpr std::size_t room = 1024;  // bytes; more than one llvm::TargetOptions takes, which Facts checks

private:
    const LlvmCalls& llvm_;
    std::unique_ptr<std::uint8_t[]> bytes_;
};

// How a machine was made, as far as that is known.
struct Made {
    std::shared_ptr<const Options> options{};  // as the program passed them
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
    explicit Facts(const LlvmCalls& calls);

    const LlvmCalls& llvm() const noexcept { return llvm_; }
    // Adds to `made` what is not known of how `machine` was made. Throws like `make_like`.
    void complete(const void* machine, Made& made) const;
    // Makes a machine from what `machine` was made from and from `made`, which is complete. Throws std::runtime_error
    // if LLVM refuses.
    void* make_like(const void* machine, const Made& made) const;
    // Returns the options as the program passed them, except those that LLVM changed from option values while it made
    // `machine`. For a machine made before optctx attached.
    std::shared_ptr<const Options> options_of(const void* machine) const;
    // Copies the verbosity, which can change at any time, from one machine to another.
    void carry(const void* from, void* to) const;

private:
    std::size_t options_offset(const void* machine) const;
    bool made_for_jit(const void* machine, Made made) const;

    LlvmCalls llvm_;
    std::size_t options_size_ = 0;
    std::vector<Bits> verbosity_;
    std::vector<Bits> selection_;  // of the options, where the code generator says how it selects instructions
};

}  // namespace optctx::machine

// LLVM's TargetMachine, as far as copying one requires: its parts through LLVM's own functions, and what no function
// returns through experiments on the image itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

// LLVM's functions in the image, by address.
struct LlvmCalls {
    void* (*create)(const void* target, const void* triple, Text cpu, Text features, const void* options,
                    OptionalModel reloc, OptionalModel code, std::int32_t level, bool jit);
    void (*dispose)(void* machine);
    void (*construct)(void* machine, const void* target, Text layout, const void* triple, Text cpu, Text features,
                      const void* options);  // of the base class only
    void (*destroy)(void* machine);          // of the base class only
    const void* (*target)(const void* machine);
    const void* (*triple)(const void* machine);
    Text (*cpu)(const void* machine);
    char* (*features)(const void* machine);  // malloc'ed
    std::int32_t (*reloc_model)(const void* machine);
    std::int32_t (*code_model)(const void* machine);
    std::int32_t (*opt_level)(const void* machine);
    void (*default_options)(void* options);
    void (*copy_options)(void* options, const void* other);
    void (*destroy_options)(void* options);
    void (*reset_options)(const void* machine, const void* function);
    void (*set_verbosity)(void* machine, std::int32_t verbose);
    void (*set_others[4])(void* machine, std::int32_t value);  // settings that the code generator also changes
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
    // Returns the options as the program passed them, except those that LLVM changed from option values while it made
    // `machine`. For a machine made before optctx attached.
    std::unique_ptr<Options> options_of(const void* machine) const;
    // Whether `machine` was made for a JIT. Some targets store that, but no function returns it. Throws like
    // `make_like`.
    bool made_for_jit(const void* machine, const void* options) const;
    // Makes a machine like `machine`. Throws std::runtime_error if LLVM refuses.
    void* make_like(const void* machine, const void* options, bool jit) const;
    // Copies the verbosity, which can change at any time, from one machine to another.
    void carry(const void* from, void* to) const;

private:
    std::size_t options_offset(const void* machine) const;

    LlvmCalls llvm_;
    std::size_t options_size_ = 0;
    std::vector<Bits> verbosity_;
    std::vector<Bits> others_;
};

}  // namespace optctx::machine

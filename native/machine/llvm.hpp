// LLVM's TargetMachine as far as copies of one are made: its parts through LLVM's own functions, and what no function
// tells as found by experiment on the image itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace optctx::machine {

// llvm::StringRef, and std::optional of an enum, as functions take and return them.
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
                      const void* options);  // the base class alone
    void (*destroy)(void* machine);          // likewise
    const void* (*target)(const void* machine);
    const void* (*triple)(const void* machine);
    Text (*cpu)(const void* machine);
    char* (*features)(const void* machine);  // malloc
    std::int32_t (*reloc_model)(const void* machine);
    std::int32_t (*code_model)(const void* machine);
    std::int32_t (*opt_level)(const void* machine);
    void (*default_options)(void* options);
    void (*copy_options)(void* options, const void* other);
    void (*destroy_options)(void* options);
    void (*reset_options)(const void* machine, const void* function);
    void (*set_verbosity)(void* machine, std::int32_t verbose);
    void (*set_others[4])(void* machine, std::int32_t value);  // what the code generator sets, too
};

// An llvm::TargetOptions of its own.
class Options {
public:
    // A copy of the one at `options`.
    Options(const LlvmCalls& llvm, const void* options);
    Options(const Options&) = delete;
    Options& operator=(const Options&) = delete;
    ~Options();
    void* address() const noexcept { return bytes_.get(); }
    static constexpr std::size_t room = 1024;  // bytes, more than one takes; see Facts

private:
    const LlvmCalls& llvm_;
    std::unique_ptr<std::uint8_t[]> bytes_;
};

// Bits of a byte of a machine.
struct Bits {
    std::size_t at;
    std::uint8_t mask;
};

// What LLVM's functions, run on scratch memory, tell of the layout. Throws std::runtime_error, naming what does not
// check out.
class Facts {
public:
    explicit Facts(const LlvmCalls& calls);

    const LlvmCalls& llvm() const noexcept { return llvm_; }
    // As its maker passed them, but for what `machine` was made with from option values. For a machine that was made
    // before anybody looked.
    std::unique_ptr<Options> options_of(const void* machine) const;
    // Whether `machine` was made for a JIT, which some targets keep and no function tells. Throws as `make_like` does.
    bool made_for_jit(const void* machine, const void* options) const;
    // A machine like `machine`, made now. Throws std::runtime_error if LLVM makes none.
    void* make_like(const void* machine, const void* options, bool jit) const;
    // Has `to` be as verbose as `from`, which can be set at any time.
    void carry(const void* from, void* to) const;

private:
    std::size_t options_offset(const void* machine) const;

    LlvmCalls llvm_;
    std::size_t options_size_ = 0;
    std::vector<Bits> verbosity_;
    std::vector<Bits> others_;
};

}  // namespace optctx::machine

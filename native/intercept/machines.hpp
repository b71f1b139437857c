// TargetMachines that match the option values LLVM reads while it works with them.
//
// A machine keeps what its constructor built from option values, and what its subtargets built on first use. So if a
// run reads in a context that the machine was not made in, LLVM works with another machine in its place: a variant. A
// run has exclusive use of its variants, and returns them for later runs of contexts with equal values.
#pragma once

#include "intercept/machine_copies.hpp"

#include <cstddef>
#include <cstdint>

namespace optctx::machine {

// What an intercepted function does with its machine.
enum class Use : std::uint8_t {
    work,           // reads what was built from option values: called for the machine in force
    begin,          // the base class's constructor: called with a new machine and its options
    end,            // the base class's destructor
    reset_options,  // resets the options for a function; the machine in force is reset as well
    emit,           // like `work`; from now on, emitted code belongs to the machine in force
    lowering,       // returns the object's sections and symbols, of which a module has one set: called for the emitting
                    // machine, even if a function works with another
};

// Call once for each image, before anything is redirected. Throws std::runtime_error if a check of the image fails.
void configure(unsigned image, LlvmCalls calls);

// The image's work on this thread, from the outermost intercepted call on. Runs nest. Variants are used inside runs
// only.
void begin_run(unsigned image) noexcept;
void end_run(unsigned image) noexcept;
// Call before this thread leaves the context it reads in. If LLVM wrote to option values there, which making a variant
// can do, the run's variants are not used again.
void leave_context(unsigned image) noexcept;

// While it lives, every machine that begins on this thread is one that LLVM makes with a copy of the TargetOptions of
// `machine`, to which LLVM may have added option values while it made that one.
class Copying {
public:
    explicit Copying(const void* machine) noexcept;
    Copying(const Copying&) = delete;
    Copying& operator=(const Copying&) = delete;
    ~Copying();

private:
    const void* before_;
};

// Forgets all machines of an image: from now on they begin and end unseen. Call with no thread inside that LLVM.
void forget_all(unsigned image);
// The number of variants of an image that no run is using.
std::size_t idle_variants(unsigned image);

// Runs before an intercepted function that takes a machine (intercept/interception.hpp). `argument`: the index of the
// machine, or of the options where it begins.
void before(unsigned image, Use use, std::uint8_t argument, std::uint64_t* arguments) noexcept;

}  // namespace optctx::machine

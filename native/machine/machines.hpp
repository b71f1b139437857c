// TargetMachines that belong to the option values that LLVM reads while it works with them.
//
// A machine keeps what it built from option values: its constructor's, and those of subtargets, which are built when
// they are first used. So LLVM works with another machine in its place, a variant, wherever a run reads in a context
// that the machine was not made in. A run has its variants to itself, and gives them back for the next run of a context
// with the same values.
#pragma once

#include "machine/llvm.hpp"

#include <cstddef>
#include <cstdint>

namespace optctx::machine {

// What an intercepted function does with the machine that it is called for.
enum class Use : std::uint8_t {
    work,           // reads what was built from option values: is called for the machine in force
    begin,          // the base class's constructor
    end,            // the base class's destructor
    reset_options,  // for a function; the machine in force has its options reset, too
    layout,         // gives the data layout, which options may change: a run by itself, for the machine in force
    emit,           // as `work`, and what is emitted from now on belongs to the machine in force
    lowering,       // gives what knows the sections and symbols of the object, which a module has one of: is called for
                    // the machine that emits, also where a function works with another
};

// Once for each image, before anything is redirected. `cannot_make` is told, on the thread that runs LLVM, why there is
// no variant; it must not throw. Throws std::runtime_error if the image does not check out; nothing is changed then.
void configure(unsigned image, const LlvmCalls& calls, void (*cannot_make)(const char* why));

// LLVM at work on this thread, from the outermost intercepted call on; runs nest. Variants are used inside runs only.
void begin_run() noexcept;
void end_run() noexcept;
// The machine to work with in place of that one, until the outermost run ends. Outside runs: itself.
void* in_force(void* machine) noexcept;
// Before this thread leaves what it reads in now: variants are not used again if LLVM wrote to option values there,
// which making them may have done.
void leave_context() noexcept;

// With nobody inside LLVM: forgets all machines, since they begin and end unseen from now on.
void forget_all();
// Variants that no run has at this moment.
std::size_t idle_variants();

// What the thunks call. `entry`: the use, and the index of the machine among the arguments.
constexpr std::uint32_t pack(Use use, std::uint8_t argument) {
    return static_cast<std::uint32_t>(use) | static_cast<std::uint32_t>(argument) << 8;
}
extern "C" void optctx_use_machine(std::uint32_t entry, std::uint64_t* arguments);

}  // namespace optctx::machine

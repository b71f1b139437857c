// What LLVM's own setters lead to inside a context, and what gives values to options of LLVM's own: the latter takes
// the place of Option::addOccurrence in LLVM's virtual function tables.
#pragma once

#include "image/layouts.hpp"

#include <cstdint>

namespace optctx::contain {

// What cannot be said where it happens, because LLVM is at work: told to the code that made it work. Called on that
// thread; must not throw.
struct Reporter {
    // The option has been set for the whole process inside a context, because it has no storage there.
    void (*not_contained)(unsigned image, std::uintptr_t option);
    // The context shows the value until the call that LLVM is in returns: this thread only carries the scope.
    void (*ends_with_call)(unsigned image, std::uintptr_t option);
    // The scope of this thread, which has not asked to contain what is set in it, has contained a value of the option.
    void (*contained)(unsigned image, std::uintptr_t option);
    // Something went wrong, such as memory running out: an option was not set, or LLVM works without part of a scope.
    void (*failed)(unsigned image, const char* why);
    // There is no variant of a TargetMachine for the values in force (intercept/machines.hpp).
    void (*cannot_make_machine)(unsigned image, const char* why);
};
inline Reporter reporter{};  // set before anything is redirected

// All options return to their registered values in the scope of this thread. Returns false if it is in none.
bool reset(unsigned image) noexcept;

// An option was given a value for the whole process. `value` with null data: it was given as a flag. Called on the
// thread that runs LLVM, after the parse. Must not throw. Set before anything is redirected.
inline void (*observer)(unsigned image, std::uintptr_t option, image::RawStringRef value, bool refused) = nullptr;

// `add_occurrence` is the image's own bool Option::addOccurrence(unsigned, StringRef, StringRef, bool), which still
// does the work outside contexts. Returns the replacement. Call before it is put into any virtual function table.
std::uintptr_t replace_add_occurrence(unsigned image, std::uintptr_t add_occurrence);

}  // namespace optctx::contain

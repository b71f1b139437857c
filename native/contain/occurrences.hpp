// Takes the place of Option::addOccurrence in LLVM's virtual function tables: whatever gives a value to an option of
// LLVM's own comes here first.
#pragma once

#include "contain/setters.hpp"

#include <cstdint>

namespace optctx::contain {

// Called on the thread that runs LLVM, during a parse. Must not throw.
struct Observer {
    // Returns false if `end` must not be called.
    bool (*begin)(unsigned image, std::uintptr_t option);
    // `value` with null data: the option was given as a flag.
    void (*end)(unsigned image, std::uintptr_t option, image::RawStringRef value, Outcome outcome, bool refused);
};

// `add_occurrence` is the image's own bool Option::addOccurrence(unsigned, StringRef, StringRef, bool), which still
// does the work outside contexts. Returns the replacement. Call before it is put into any virtual function table.
std::uintptr_t replace_add_occurrence(unsigned image, std::uintptr_t add_occurrence, Observer observer);

}  // namespace optctx::contain

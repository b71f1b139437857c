// Observes each value that LLVM gives to one of its own options, no matter which code asked for it.
#pragma once

#include "image/option_layout.hpp"

#include <cstdint>
#include <vector>

namespace optctx::drift {

// Called on the thread that runs LLVM, during a parse. Must not throw.
struct Observer {
    // Returns false if `end` must not be called.
    bool (*begin)(unsigned image, std::uintptr_t option);
    // `value` with null data: the option was given as a flag.
    void (*end)(unsigned image, std::uintptr_t option, image::RawStringRef value, bool refused);
};

// `add_occurrence` is the image's own bool Option::addOccurrence(unsigned, StringRef, StringRef, bool), which still
// does the work. Call before `watched_add_occurrence` is put into any virtual function table.
void observe(unsigned image, std::uintptr_t add_occurrence, Observer observer);
// Returns the replacement for the image's virtual function tables.
std::uintptr_t watched_add_occurrence(unsigned image);

// Returns an address in each function that this thread is executing, innermost first, as far as the stack can be
// unwound, at most 64.
std::vector<std::uintptr_t> native_stack();

}  // namespace optctx::drift

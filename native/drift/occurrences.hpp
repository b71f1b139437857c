// Sees LLVM give a value to one of its own options, whoever asked for it.
#pragma once

#include "image/option_layout.hpp"

#include <cstdint>
#include <vector>

namespace optctx::drift {

// Called on the thread that runs LLVM, in the middle of a parse; must not throw.
struct Observer {
    // False: `end` is not to be called.
    bool (*begin)(std::uintptr_t option);
    // `value` without data: the option was given as a flag.
    void (*end)(std::uintptr_t option, image::RawStringRef value, bool refused);
};

// `add_occurrence`: LLVM's own bool Option::addOccurrence(unsigned, StringRef, StringRef, bool), which goes on doing
// the work. To be called before `watched_add_occurrence` is put into any table of virtual functions.
void observe(std::uintptr_t add_occurrence, Observer observer);
// What takes its place in the tables of virtual functions.
std::uintptr_t watched_add_occurrence();

// Addresses of the functions that this thread is in, innermost first, as far as they can be told.
std::vector<std::uintptr_t> native_stack();

}  // namespace optctx::drift

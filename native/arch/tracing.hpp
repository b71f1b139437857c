// What a function does with its arguments and with constants, as far as that shows without running it: how a library
// without a symbol table proves what its functions are about.
#pragma once

#include "image/library.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace optctx::arch {

struct Value {
    enum Kind : std::uint8_t {
        unknown,
        constant,
        argument,
        first_word
    } kind = unknown;          // of what an argument points at
    std::uint64_t number = 0;  // the constant, or the index of the argument
    friend bool operator==(const Value&, const Value&) = default;
};

struct Step {
    enum Kind : std::uint8_t {
        call,         // of the code at `target`, or of what the slot there leads to, past the linker's stub or not
        store,        // of `first`, a word, at the address `target`
        virtual_call  // of the function `target` bytes into the table that `first` points at
    } kind;
    std::uint64_t target;
    Value first;  // of a call: its first two arguments
    Value second;
};

// The steps of a function, in the order of its code. Nothing if an instruction is not of the usual kinds or jumps by a
// table. What is said of a step is true whenever it runs, but for those that only an exception leads to.
std::optional<std::vector<Step>> trace(const image::Library& image, const image::Symbol& function);

}  // namespace optctx::arch

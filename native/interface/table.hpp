// Every option of an image by name, with its type and the place of its value. Python fills the table once, when optctx
// attaches to the image.
#pragma once

#include "image/library.hpp"
#include "values/space.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace optctx::interface {

struct Option {
    std::vector<std::string> names;  // with those of aliases
    std::size_t own_names;           // so many of them are its own; they come first
    values::Kind kind;
    // Where to read the value: in a context, `offset` bytes into the storage of `value_slot`; process-wide, and in
    // every context if there is no such slot, at `live`.
    std::uint32_t value_slot;
    std::size_t offset;
    std::uintptr_t live;
    std::uint32_t slot;       // of the cl::Option object, or none
    std::uintptr_t object;    // in LLVM's own storage
    std::string reason;       // why it cannot be set per thread
    unsigned expected_index;  // of getValueExpectedFlagDefault in LLVM's virtual functions, or 0
    std::vector<std::string> choices;
    std::vector<std::uint64_t> stored;  // for each choice, zero-extended
    std::uint32_t enum_size;            // bytes in which LLVM stores one

    bool has_elements() const noexcept { return kind == values::Kind::list || kind == values::Kind::bits; }
};

// Makes C++ code find the library's options, until the process ends. Only the first call for an image has an effect.
void publish(values::Space& space, const image::Library& library, std::vector<Option> options);
// Makes this the image of C++ code that names none. Its table has been published.
void begin_with(unsigned image) noexcept;

}  // namespace optctx::interface

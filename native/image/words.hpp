// Compares words of this process with those of an earlier one that had the same library.
#pragma once

#include "image/elf.hpp"

#include <cstdint>
#include <span>

namespace optctx::image {

// As optctx/image/kept_survey.py packs it.
struct WordCheck {
    std::uint32_t object;
    std::uint32_t index;  // of the word in that object; with the highest bit set, `value` counts from the image's base
    std::int64_t value;
};

// Whether every check holds; they are sorted by object. `objects`: addresses. False as well for an object that is not
// there, or cannot be read.
bool words_match(const Image& image, std::span<const std::uintptr_t> objects, std::span<const WordCheck> checks);

}  // namespace optctx::image

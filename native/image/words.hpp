// Compares words in memory with those that an earlier process found in the same library.
#pragma once

#include "image/library.hpp"

#include <cstdint>
#include <span>

namespace optctx::image {

// The format that optctx/image/kept_registry.py packs.
struct WordCheck {
    std::uint32_t object;
    std::uint32_t index;  // of the word in that object; with the highest bit set, `value` counts from the image's base
    std::int64_t value;
};

// Whether every check holds. `checks` are sorted by object; `objects` holds addresses. Also false if an object is
// missing or cannot be read.
bool words_match(const Library& image, std::span<const std::uintptr_t> objects, std::span<const WordCheck> checks);

}  // namespace optctx::image

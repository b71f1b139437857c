// Pointers in an image's own data.
#pragma once

#include "image/elf.hpp"
#include "image/spans.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace optctx::image {

// Pointers in the image's data, set up by the loader, that point into `spans`.
std::vector<std::pair<std::uintptr_t, std::uintptr_t>> find_data_pointers(const Image& image,
                                                                          const std::vector<Span>& spans);

}  // namespace optctx::image

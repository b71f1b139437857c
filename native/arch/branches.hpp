// Finds the bytes that may be direct calls of, or jumps to, given functions. A hit is a candidate only: whether an
// instruction really starts there is for a decoder to say.
#pragma once

#include "image/elf.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace optctx::arch {

// (address of the opcode, target), ascending. Reads the code as the library's file has it.
std::vector<std::pair<std::uintptr_t, std::uintptr_t>> find_branches(const image::Image& image,
                                                                     const std::vector<std::uintptr_t>& targets);

}  // namespace optctx::arch

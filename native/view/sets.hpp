// The std::set in which an option holds several enumerators: its elements, and copies that own their nodes.
#pragma once

#include "image/option_layout.hpp"

#include <cstdint>
#include <vector>

namespace optctx::view {

// The elements of a set that nobody changes meanwhile, in order. Reads only downwards from the root, so a byte copy
// will do.
std::vector<std::int32_t> elements_of(const image::RawSet& set);
// The same of LLVM's own set at an address. LLVM may be changing it on another thread, and freeing what it held: reads
// nothing that is not there, and begins again until the set has stood still. Throws std::runtime_error if it never
// does.
std::vector<std::int32_t> live_elements(std::uintptr_t address);

// Makes a set of the bytes at an address, which own nothing.
void build_set(void* at, const std::vector<std::int32_t>& elements);
// Frees what a set owns and leaves an empty one.
void empty_set(void* at) noexcept;

}  // namespace optctx::view

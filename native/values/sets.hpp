// The std::set in which an option holds several enumerators: reading its elements, and making copies that own their
// nodes.
#pragma once

#include "image/layouts.hpp"

#include <cstdint>
#include <vector>

namespace optctx::values {

// Return the elements of a set that no thread is changing, in order. Reads only downwards from the root, so a
// byte copy of the set is enough.
std::vector<std::int32_t> elements_of(const image::RawSet& set);
// Return the elements of LLVM's own set at an address. Another thread may be changing the set and freeing its nodes,
// so this reads no unmapped memory and retries until the set stays unchanged. Throws std::runtime_error after too many
// attempts.
std::vector<std::int32_t> live_elements(std::uintptr_t address);

// Construct a set over the bytes at an address, which own nothing.
void build_set(void* at, const std::vector<std::int32_t>& elements);
// Free what a set owns and leave it empty.
void empty_set(void* at) noexcept;

}  // namespace optctx::values

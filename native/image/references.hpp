// Finds the bytes that may be RIP-relative references into given storage. A hit is a candidate only:
// whether an instruction really starts before it is for a decoder to say.
#pragma once

#include "image/elf.hpp"

#include <cstdint>
#include <vector>

namespace optctx::image {

struct Span {
    std::uintptr_t begin;
    std::size_t size;
};

struct FunctionReferences {
    Symbol function;                       // size 0 and no name: code outside every function symbol
    std::vector<std::uintptr_t> modrm_at;  // addresses of candidate ModRM bytes, ascending
};

// Reads the code as the library's file has it. `spans` must be sorted and disjoint. Functions that only run while the
// library is loaded (static initialisers) are left out: they construct the objects, before any thread can have a view.
std::vector<FunctionReferences> find_references(const Image& image, const std::vector<Span>& spans);

// Pointers in the image's data, set up by the loader, that point into `spans`.
std::vector<std::pair<std::uintptr_t, std::uintptr_t>> find_data_pointers(const Image& image,
                                                                          const std::vector<Span>& spans);

}  // namespace optctx::image

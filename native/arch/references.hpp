// Finds the bytes that may be references, relative to the instruction, into given storage. A hit is a candidate only:
// whether an instruction really starts before it is for a decoder to say.
#pragma once

#include "image/elf.hpp"
#include "image/spans.hpp"

#include <cstdint>
#include <vector>

namespace optctx::arch {

struct FunctionReferences {
    image::Symbol function;              // size 0 and no name: code outside every function symbol
    std::vector<std::uintptr_t> places;  // addresses of the part of a candidate that names its operand, ascending
};

// Reads the code as the library's file has it. `spans` must be sorted and disjoint. Functions that only run while the
// library is loaded (static initialisers) are left out: they construct the objects, before any thread can have a view.
std::vector<FunctionReferences> find_references(const image::Image& image, const std::vector<image::Span>& spans);
// The same for each of several lists of spans, with one pass over the code.
std::vector<std::vector<FunctionReferences>> find_references_to_each(
    const image::Image& image, const std::vector<std::vector<image::Span>>& spans);
// The same in some functions only: numbers of their symbols, each once.
std::vector<FunctionReferences> find_references_in(const image::Image& image, const std::vector<image::Span>& spans,
                                                   const std::vector<std::uint32_t>& functions);

}  // namespace optctx::arch

// Finds the bytes that may be instructions that refer to given storage or functions. A hit is a candidate only: whether
// an instruction really starts there is for a decoder to say.
#pragma once

#include "image/library.hpp"
#include "image/spans.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace optctx::arch {

struct FunctionReferences {
    image::Symbol function;              // size 0 and no name: code outside every function symbol
    std::vector<std::uintptr_t> places;  // addresses of the part of a candidate that names its operand, ascending
};

// Finds the references into each of several lists of spans, with one pass over the code. Reads the code as the
// library's file has it. Each list must be sorted and disjoint. Functions that only run while the library is loaded
// (static initialisers) are left out: they construct the objects, before any thread can have a view.
std::vector<std::vector<FunctionReferences>> find_references_to_each(
    const image::Library& image, const std::vector<std::vector<image::Span>>& spans);
// Finds the references into one list, in some functions only: numbers of their symbols, each once.
std::vector<FunctionReferences> find_references_in(const image::Library& image, const std::vector<image::Span>& spans,
                                                   const std::vector<std::uint32_t>& functions);

// (address of the opcode, target), ascending. Reads the code as the library's file has it.
std::vector<std::pair<std::uintptr_t, std::uintptr_t>> find_branches(const image::Library& image,
                                                                     std::vector<std::uintptr_t> targets);

}  // namespace optctx::arch

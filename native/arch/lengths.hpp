// Where instructions begin: the lengths of the usual ones. Whatever else a library has is for a decoder to say.
#pragma once

#include "arch/scan.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace optctx::arch {

struct Length {
    unsigned length;      // bytes
    unsigned operand_at;  // index of what names an operand relative to the instruction; 0 for none
};

// Of the first instruction of `code`, which need not be whole. Nothing for one that is not of the usual kinds.
std::optional<Length> instruction_length(std::span<const std::uint8_t> code);

// (address, length, operand_at) of the instructions of which the places name the operand, walking from the start of the
// function. Nothing if an instruction on the way is not of the usual kinds.
using Located = std::tuple<std::uintptr_t, unsigned, unsigned>;
std::optional<std::vector<Located>> locate(const image::Library& image, const FunctionReferences& references);

}  // namespace optctx::arch

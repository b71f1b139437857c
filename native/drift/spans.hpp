// Pieces of LLVM's own storage, read to detect whether any of them changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace optctx::drift {

// (address, size in bytes) of each piece, which must stay readable.
struct Spans {
    std::vector<std::pair<std::uintptr_t, std::size_t>> pieces;
};

std::string read(const Spans& spans);

}  // namespace optctx::drift

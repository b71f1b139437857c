// Typed reads of option values.
#pragma once

#include "values/region.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace optctx::values {

// What LLVM was given as a text. It can be the name of a file, so it need not be UTF-8.
struct Text {
    std::string bytes;
};

// An enum is the stored integer; the registry knows the names.
using Scalar = std::variant<bool, std::int64_t, std::uint64_t, double, Text>;

// Read a value of `kind` (not a list) at `address`.
Scalar read_scalar(Kind kind, std::uintptr_t address);
// Read the low `size` bytes (at most 8) as an integer, zero-extended; used for an enum as it is stored.
std::uint64_t read_integer(std::size_t size, std::uintptr_t address);
// Read a cl::list with internal storage. Each element takes `element_size` bytes; 0 means unknown, and the size
// is then computed from the number of occurrences.
std::vector<Scalar> read_list(Kind element, std::size_t element_size, std::uintptr_t address);

}  // namespace optctx::values

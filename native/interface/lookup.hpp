// Reads the value of an option in the form that the interface returns.
#pragma once

#include "contexts/context.hpp"
#include "interface/table.hpp"

#include <cstdint>

namespace optctx::interface {

// Reads in `context` or, if null, in LLVM's own storage. Pass `out` to `free_value` afterwards. Throws std::bad_alloc,
// and std::runtime_error if another thread keeps changing a std::set. The entry must not be of kind other.
void read_value(const contexts::Context* context, const OptionEntry& entry, optctx_value& out);
void free_value(optctx_value& value) noexcept;
// Returns how many times the option was given there.
std::uint32_t occurrences_of(const contexts::Context* context, const OptionEntry& entry);

}  // namespace optctx::interface

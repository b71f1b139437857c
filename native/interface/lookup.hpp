// Reads the value of an option as the interface hands it out.
#pragma once

#include "interface/table.hpp"
#include "view/context.hpp"

#include <cstdint>

namespace optctx::interface {

// In `context`, or with null in LLVM's own storage. `out` has to be given to `free_value`. Throws std::bad_alloc; the
// entry must not be of kind other.
void read_value(const view::Context* context, const Entry& entry, optctx_value& out);
void free_value(optctx_value& value) noexcept;
// How often the option was given there.
std::uint32_t occurrences_of(const view::Context* context, const Entry& entry);

}  // namespace optctx::interface

// Suggests a known name for a misspelt one.
#pragma once

#include <string_view>
#include <vector>

namespace optctx::interface {

// Returns the name in `known` with the smallest edit distance to `name`, or an empty view if that distance is more than
// a third of its letters.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace optctx::interface

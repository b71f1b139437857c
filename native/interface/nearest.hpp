// The name that may have been meant.
#pragma once

#include <string_view>
#include <vector>

namespace optctx::interface {

// The one of `known` that takes the fewest edits to `name`; empty if that would be more than a third of its letters.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace optctx::interface

#include "image/registry_layouts.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace optctx::image {

const RegistryLayout& registry_layout(const std::string& name) {
    const auto found = std::ranges::find_if(registry_layouts, [&](const auto& layout) { return layout.name == name; });
    if (found == std::end(registry_layouts)) throw std::runtime_error("no map of options is called '" + name + "'");
    return *found;
}

}  // namespace optctx::image

// Walks LLVM's map of registered options, after checking every entry of it.
#pragma once

#include "image/option_layout.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace optctx::image {

struct RegisteredOption {
    std::string key;
    std::uintptr_t address;
};

struct Registry {
    std::string layout;  // which of the known map layouts checked out
    std::vector<RegisteredOption> options;
};

// `map` is what cl::getRegisteredOptions returned. Tries every known layout; a layout holds only if the
// number of entries is the one the map says and every Option's name is its key (or empty: literal
// enum options). Throws std::runtime_error that lists why each one failed.
Registry walk_registry(std::uintptr_t map);

}  // namespace optctx::image

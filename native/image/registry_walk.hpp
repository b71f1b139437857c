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

// `map` is what cl::getRegisteredOptions returned. Tries every known layout. A layout holds only if the number of
// entries is the one that the map states, if every Option's name is its key (or empty: literal enum options), and if
// all that the heads of the Options point at is there: names, help texts, categories. Every read is checked, so `map`
// may be any address. Throws Misfit with the reason for each layout.
Registry walk_registry(std::uintptr_t map);

}  // namespace optctx::image

// A walk through an LLVM's map of registered options that checks every entry.
#pragma once

#include "image/library.hpp"
#include "image/registry_layouts.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace optctx::image {

struct RegisteredOption {
    std::string key;
    std::uintptr_t address;
};

struct Registry {
    std::string layout;  // the known map layout that held
    std::vector<RegisteredOption> options;
};

// `map`: as cl::getRegisteredOptions returned it. Tries every known layout. A layout holds only if the map has as many
// entries as it states, if the name of each Option is its key (or empty, for options that are literal enum values), and
// if everything that the head of an Option points at can be read: names, help texts, categories. Every read is checked,
// so `map` may be any address. With `image`, an option outside it that does not check out is left out: LLVM
// keeps a pointer to what a library registered that was unloaded. Throws Misfit with a reason for each layout.
Registry walk_registry(std::uintptr_t map, const Library* image = nullptr);

}  // namespace optctx::image

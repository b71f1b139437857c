// A walk through an LLVM's map of registered options that checks every entry.
#pragma once

#include "image/library.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace optctx::image {

// How the map lies in memory.
struct RegistryLayout {
    enum class Kind : std::uint8_t { string_map, tombstones, sentinels, bitmap };

    const char* name;
    Kind kind;
    std::uint8_t epoch;  // bytes of DebugEpochBase before the map's own: only with ABI-breaking checks
};

// walk_registry tries them in this order.
inline constexpr RegistryLayout registry_layouts[] = {
    {"StringMap", RegistryLayout::Kind::string_map, 0},  // up to LLVM 21; never has an epoch
    {"DenseMap with epoch", RegistryLayout::Kind::tombstones, 8},
    {"DenseMap", RegistryLayout::Kind::tombstones, 0},  // LLVM 22, and 23 at first
    {"DenseMap without tombstones, with epoch", RegistryLayout::Kind::sentinels, 8},
    {"DenseMap without tombstones", RegistryLayout::Kind::sentinels, 0},  // LLVM 23 (Triton 3.8)
    {"DenseMap with bitmap and epoch", RegistryLayout::Kind::bitmap, 8},
    {"DenseMap with bitmap", RegistryLayout::Kind::bitmap, 0},  // LLVM 23 (jaxlib 0.10) and 24
};

// The name of the map's layout; and each key with the address of its option, by key.
using Registry = std::pair<std::string, std::vector<std::pair<std::string, std::uintptr_t>>>;

// `map`: as cl::getRegisteredOptions returned it. Tries every known layout. A layout holds only if the map has as many
// entries as it states, if the name of each Option is its key (or empty, for options that are literal enum values), and
// if everything that the head of an Option points at can be read: names, help texts, categories. Every read is checked,
// so `map` may be any address. Leaves out the options that LLVM adds when it parses a command line (-h, for `help`):
// what is registered must not depend on whether anything has parsed one yet. With `image`, an option outside it that
// does not check out is left out, too: LLVM keeps a pointer to what a library registered that was unloaded. Throws
// Misfit with a reason for each layout.
Registry walk_registry(std::uintptr_t map, const Library* image = nullptr);

}  // namespace optctx::image

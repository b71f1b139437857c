// The entries of LLVM's map of registered options, and what is proven about the Option that each leads to.
#pragma once

#include "image/layouts.hpp"
#include "image/memory.hpp"
#include "image/registry_layouts.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace optctx::image {

struct RegistryEntry {
    std::uintptr_t key;
    std::size_t length;
    std::uintptr_t option;
    friend bool operator==(const RegistryEntry&, const RegistryEntry&) = default;
};

struct RegistryEntries {
    std::uint32_t announced;  // by the map
    std::vector<RegistryEntry> found;
};

// Reads the buckets of a map. Nothing is known yet of keys and options. Throws Misfit if the map is laid out otherwise.
RegistryEntries load_entries(Snapshot& memory, std::uintptr_t map, const RegistryLayout& layout);

// Reads the key of an entry. Throws Misfit.
std::string load_key(Snapshot& memory, const RegistryEntry& entry);

// Proves that all that the head of an Option points at can be read.
class OptionProof {
public:
    explicit OptionProof(Snapshot& memory) : memory_(memory) {}

    // Returns the name inside the Option, empty for an option that is literal enum values. Throws Misfit.
    std::string own_name(std::uintptr_t address);

private:
    void prove_categories(const RawOption& raw);

    Snapshot& memory_;
    std::unordered_set<std::uintptr_t> proven_;  // options and categories
};

}  // namespace optctx::image

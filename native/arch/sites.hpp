// Groups sites by who reads: the instructions of one function that refer to one region in one way.
#pragma once

#include "arch/trampolines.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace optctx::arch {

constexpr std::uint32_t no_reader = 0xFFFFFFFF;

// As optctx/plan/references.py unpacks it.
struct PackedReader {
    std::uint32_t slot;
    std::uint32_t function;  // number of the symbol
    std::int32_t offset;     // of the address that is taken, in bytes into the region; 0 where none is
    std::uint32_t uses;      // of PackedSite, without writes
};
static_assert(sizeof(PackedReader) == 16);

struct Readers {
    std::vector<PackedReader> readers;   // in the order of the sites
    std::vector<std::uint32_t> of_site;  // index of a reader, or no_reader
};

// `slots`: by region, from the image's base. Sites of other regions have no reader.
Readers group_readers(std::span<const PackedSite> sites, const std::unordered_map<std::uint64_t, std::uint32_t>& slots);

// For each site the word of the view that it goes through: that of its reader, from `first` on, or the slot of its
// region. Throws Misfit if there is neither. `loads`: 1 where it leads to an address that the site takes.
struct Words {
    std::vector<std::uint32_t> words;
    std::vector<std::uint8_t> loads;
};
Words words_of(std::span<const PackedSite> sites, const std::unordered_map<std::uint64_t, std::uint32_t>& slots,
               std::span<const std::uint32_t> readers, std::uint32_t first);

// What the sites of one region do with it.
struct Uses {
    bool writes = false;
    bool writes_head = false;  // at the first byte: a constructor does
    bool takes_address = false;
    std::vector<std::uint32_t> functions;  // numbers of symbols, each once, in the order of the code
};
// By region, from the image's base, in the order of the code.
std::vector<std::pair<std::uint64_t, Uses>> group_uses(std::span<const PackedSite> sites);

}  // namespace optctx::arch

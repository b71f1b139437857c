// Groups sites by who reads: the instructions of one function that refer to one region in one way.
#pragma once

#include "arch/trampolines.hpp"

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace optctx::arch {

using Slots = std::unordered_map<std::uint64_t, std::uint32_t>;  // by address of the region

constexpr std::uint32_t no_reader = 0xFFFFFFFF;

// The instructions of one function that refer to one region in one way. Each reader has its own word of a view, so that
// a thread can detect the first of them that executes (views/poison.hpp) at no cost to other readers and threads.
struct Reader {
    std::uint32_t slot;
    std::uint32_t function;  // number of the symbol
    std::uint32_t offset;    // of the address that is taken, in bytes into the region; 0 where none is
    bool takes_address;      // loads an address from where its word points, for later use
    bool reads;              // false: only writes
    friend auto operator<=>(const Reader&, const Reader&) = default;
};

struct Readers {
    std::vector<Reader> all;             // in the order of the sites
    std::vector<std::uint32_t> of_site;  // index of a reader, or no_reader
};

// Sites of regions that have no slot have no reader. Throws Misfit.
Readers group_readers(std::span<const Site> sites, const Slots& slots);

// For each site the word of the view that it goes through: that of its reader, from `first` on, or the slot of its
// region; and 1 where that word leads to an address that the site takes. Throws Misfit if there is no word.
using Words = std::pair<std::vector<std::uint32_t>, std::vector<std::uint8_t>>;
Words words_of(std::span<const Site> sites, const Slots& slots, const Readers& readers, std::uint32_t first);

// What the sites of one region do with it.
struct Uses {
    bool writes = false;
    bool writes_head = false;  // at the first byte: a constructor does
    bool takes_address = false;
    std::vector<std::uint32_t> functions;  // numbers of symbols, each once, in the order of the code
};
// By address of the region, in the order of the code.
std::vector<std::pair<std::uint64_t, Uses>> group_uses(std::span<const Site> sites);

}  // namespace optctx::arch

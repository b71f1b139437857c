// Groups sites by who reads: the instructions of one function that refer to one region in one way.
#pragma once

#include "arch/trampolines.hpp"

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace optctx::arch {

using Slots = std::unordered_map<std::uint64_t, std::uint32_t>;  // by address of the region

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
    std::vector<Reader> all;           // in the order of the sites
    std::uint32_t first;               // word of the view of the first reader
    std::vector<std::uint32_t> words;  // of the view, for each site: of its reader, or else the slot of its region
};

// `alike`: addresses of regions whose sites have no reader. Throws Misfit for a site of a region without a slot.
Readers group_readers(std::span<const Site> sites, const Slots& slots, const std::unordered_set<std::uint64_t>& alike,
                      std::uint32_t first);

// What the sites of one region do with it.
struct Uses {
    bool writes = false;
    bool writes_head = false;  // at the first byte: a constructor does
    bool takes_address = false;
    std::vector<std::uint32_t> functions;  // numbers of symbols, in the order of the code
};
// By address of the region.
std::unordered_map<std::uint64_t, Uses> group_uses(std::span<const Site> sites);

}  // namespace optctx::arch

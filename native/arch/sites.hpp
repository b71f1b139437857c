// Sites, and who reads: the instructions of one function that refer to one region in one way.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace optctx::arch {

// One instruction that refers to the region at `region`, `offset` bytes into it. Thousands live as long as the process.
struct Site {
    std::uint64_t address;
    std::uint64_t region;
    std::int32_t offset;
    std::uint32_t function;   // number of the symbol
    std::uint8_t length;      // bytes of the instruction
    std::uint8_t tactic;      // how its trampoline gets a register: a number of the processor's own
    std::uint8_t scratch;     // number of that register
    std::uint8_t operand_at;  // index, in the instruction, of what names the operand
    std::uint8_t uses;        // bits, as below
    std::uint8_t unused[3];
};
static_assert(sizeof(Site) == 32);
constexpr std::uint8_t writes_bit = 1, takes_address_bit = 2, reads_bit = 4;
// LLVM may write what such a site refers to, now or later.
inline bool exposes(const Site& site) noexcept { return (site.uses & (writes_bit | takes_address_bit)) != 0; }

// Slots whose exposure is noted together: neighbours, which code of one file uses.
constexpr std::uint32_t exposure_groups = 128;
constexpr std::uint32_t exposure_group(std::uint32_t slot) noexcept { return slot / 16 % exposure_groups; }

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
    std::vector<Reader> all;  // in the order of the sites
    std::uint32_t first;      // word of the view of the first reader
    // Of the view, for each site: of its reader, which for a site that takes an address leads to that address, or else
    // the slot of its region.
    std::vector<std::uint32_t> words;

    std::uint32_t slot_of(std::uint32_t word) const { return word < first ? word : all.at(word - first).slot; }
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

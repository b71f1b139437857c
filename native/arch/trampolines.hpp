// The code that runs instead of a redirected instruction: it reads this thread's storage of an option.
#pragma once

#include "image/library.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
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

// What is done to code that runs: see patch/code.hpp.
struct Change {
    std::uintptr_t address;            // of one whole instruction, at least jump_size bytes long
    std::vector<std::uint8_t> before;  // its bytes
    std::vector<std::uint8_t> code;    // what runs instead, without the jump back
};

// `words`: of the view, for each site. It leads to the storage of the site's region, or from `first_reader` on, for a
// site that takes an address, to that address. `thread_offset`: of the view pointer from the thread pointer, in bytes.
//
// Throws Misfit if the library's file does not have, at the address of a site, an instruction whose operand is there
// and refers to what the site says. Where instructions begin is not checked.
std::vector<Change> trampolines(const image::Library& image, std::span<const Site> sites,
                                std::span<const std::uint32_t> words, std::uint32_t first_reader,
                                std::int32_t thread_offset);

// Bytes from the start of the site's trampoline to the instruction that uses the word of the view.
std::size_t use_at(const Site& site) noexcept;

// The instruction with its operand `offset` bytes past the register `scratch`.
std::vector<std::uint8_t> rewrite(std::span<const std::uint8_t> instruction, std::size_t operand_at, unsigned scratch,
                                  std::int32_t offset);

}  // namespace optctx::arch

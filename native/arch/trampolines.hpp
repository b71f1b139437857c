// The code that runs instead of a redirected instruction: it reads this thread's storage of an option.
#pragma once

#include "arch/sites.hpp"
#include "image/library.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace optctx::arch {

// What is done to code that runs: see patch/code.hpp.
struct Change {
    std::uintptr_t address;            // of one whole instruction, at least jump_size bytes long
    std::vector<std::uint8_t> before;  // its bytes
    std::vector<std::uint8_t> code;    // what runs instead, without the jump back
};

// `view_offset`, `exposed_offset`: of this thread's view and of its bytes of exposure groups from the thread pointer,
// in bytes.
//
// Throws Misfit if the library's file does not have, at the address of a site, an instruction whose operand is there
// and refers to what the site says. Where instructions begin is not checked.
std::vector<Change> trampolines(const image::Library& image, std::span<const Site> sites, const Readers& readers,
                                std::int32_t view_offset, std::int32_t exposed_offset);

// Bytes from the start of the site's trampoline to the instruction that uses the word of the view.
std::size_t use_at(const Site& site) noexcept;

// The instruction with its operand `offset` bytes past the register `scratch`.
std::vector<std::uint8_t> rewrite(std::span<const std::uint8_t> instruction, std::size_t operand_at, unsigned scratch,
                                  std::int32_t offset);

}  // namespace optctx::arch

#include "arch/jumps.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>

namespace optctx::arch {
namespace {

constexpr std::uint8_t opcode = 0xE9;  // jmp rel32

std::string at_address(std::uintptr_t address) {
    char text[32];
    std::snprintf(text, sizeof text, "%#lx", static_cast<unsigned long>(address));
    return text;
}

std::int32_t distance(std::uintptr_t from, std::uintptr_t to) {
    const auto wide = static_cast<std::intptr_t>(to - from);
    const auto narrow = static_cast<std::int32_t>(wide);
    if (narrow != wide) throw std::runtime_error("no jump reaches from " + at_address(from) + " to " + at_address(to));
    return narrow;
}

}  // namespace

const std::size_t jump_size = 5;
const std::uint8_t filler = 0xCC;  // int3

void append_jump(std::vector<std::uint8_t>& code, std::uintptr_t next_instruction, std::uintptr_t to) {
    const std::int32_t rel = distance(next_instruction, to);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&rel);
    code.push_back(opcode);
    code.insert(code.end(), bytes, bytes + sizeof rel);
}

}  // namespace optctx::arch

#include "arch/loads.hpp"

#include "arch/faults.hpp"
#include "arch/lengths.hpp"

#include <cstddef>
#include <cstring>
#include <optional>

namespace optctx::arch {
namespace {

enum class Operation : std::uint8_t {
    load,
    compare_register_memory,
    compare_memory_register,
    compare_memory_immediate
};

struct Load {
    Operation operation;
    unsigned size;    // bytes of memory
    unsigned number;  // of the register
    std::int8_t immediate;
    std::size_t length;
};

// REX.W and REX.R (Intel SDM vol. 2A, 2.2.1).
constexpr unsigned rex_wide = 8;
constexpr unsigned rex_register = 4;

// Decodes mov r, m; cmp r, m; cmp m, r (4 or 8 bytes); cmp m, imm8 (1, 4 or 8); movzx r, m8. Does not read past the end
// of the instruction.
std::optional<Load> decode(const std::uint8_t* code) {
    const std::uint8_t* at = code;
    const unsigned rex = (*at & 0xF0u) == 0x40 ? *at++ & 15u : 0;
    Load load{Operation::load, (rex & rex_wide) != 0 ? 8u : 4u, 0, 0, 0};
    bool immediate = false;
    switch (*at++) {
        case 0x8B:
            break;
        case 0x3B:
            load.operation = Operation::compare_register_memory;
            break;
        case 0x39:
            load.operation = Operation::compare_memory_register;
            break;
        case 0x80:
            load.size = 1;
            [[fallthrough]];
        case 0x83:
            load.operation = Operation::compare_memory_immediate;
            immediate = true;
            break;
        case 0x0F:
            if (*at++ != 0xB6) return std::nullopt;
            load.size = 1;
            break;
        default:
            return std::nullopt;
    }
    const unsigned field = *at >> 3 & 7u;
    if (*at >> 6 == 3 || (immediate && field != 7)) return std::nullopt;  // no memory operand, or not cmp
    load.number = field | ((rex & rex_register) != 0 ? 8u : 0u);
    const auto length = instruction_length({code, longest_instruction});
    if (!length) return std::nullopt;
    load.length = length->length;
    if (immediate) load.immediate = static_cast<std::int8_t>(code[load.length - 1]);
    return load;
}

constexpr greg_t low_flags = 0xD5;  // SF ZF AF PF CF, the flags that lahf loads
constexpr greg_t overflow_flag = 1 << 11;

template <class T>
greg_t compare_as(std::uint64_t left, std::uint64_t right) {
    std::uint16_t flags;
    asm("cmp %2, %1\n\tlahf\n\tseto %%al" : "=a"(flags) : "q"(static_cast<T>(left)), "q"(static_cast<T>(right)) : "cc");
    return (flags >> 8 & low_flags) | ((flags & 1) != 0 ? overflow_flag : 0);
}

greg_t compare(unsigned size, std::uint64_t left, std::uint64_t right) {
    if (size == 1) return compare_as<std::uint8_t>(left, right);
    if (size == 4) return compare_as<std::uint32_t>(left, right);
    return compare_as<std::uint64_t>(left, right);
}

}  // namespace

bool do_load(ucontext_t& context, std::uintptr_t address, const os::OwnMemory& memory) noexcept {
    greg_t& instruction = context.uc_mcontext.gregs[REG_RIP];
    const auto load = decode(reinterpret_cast<const std::uint8_t*>(instruction));
    if (!load) return false;
    // An access across a page boundary faults at the second page, so its start is unknown here. A single step handles
    // it.
    const std::uintptr_t in_page = address % os::page_size();
    if (in_page == 0 || in_page + load->size > os::page_size()) return false;
    std::uint64_t value = 0;
    if (!memory.read(address, &value, load->size)) return false;
    const auto number = std::uint64_t{general_register(context, load->number)};
    const auto immediate = static_cast<std::uint64_t>(std::int64_t{load->immediate});
    greg_t& flags = context.uc_mcontext.gregs[REG_EFL];
    const auto set_flags = [&](greg_t now) { flags = (flags & ~(low_flags | overflow_flag)) | now; };
    switch (load->operation) {
        case Operation::load:  // a 32-bit load clears the upper half of the register
            set_general_register(context, load->number, value);
            break;
        case Operation::compare_register_memory:
            set_flags(compare(load->size, number, value));
            break;
        case Operation::compare_memory_register:
            set_flags(compare(load->size, value, number));
            break;
        case Operation::compare_memory_immediate:
            set_flags(compare(load->size, value, immediate));
            break;
    }
    instruction += static_cast<greg_t>(load->length);
    return true;
}

}  // namespace optctx::arch

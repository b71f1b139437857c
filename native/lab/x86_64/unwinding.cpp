// libgcc unwinds from the handler through the signal frame into the interrupted code. The signal frame's registers are
// those of the context, so changing the context decides where the walk goes on. Where it meets code that optctx made,
// the context gets the registers of the next frame that has unwind information, and another walk begins there.
#include "lab/unwinding.hpp"

#include "arch/faults.hpp"

#include <unwind.h>

#include <algorithm>
#include <cstring>

namespace optctx::lab {
namespace {

constexpr std::uintptr_t red_zone = 128;
constexpr std::uintptr_t word = sizeof(std::uintptr_t);

// The registers that a call preserves (System V ABI, 3.2.1), by their numbers in DWARF.
struct Preserved {
    int dwarf;
    int place;
};
constexpr Preserved preserved[] = {{3, REG_RBX},  {6, REG_RBP},  {12, REG_R12},
                                   {13, REG_R13}, {14, REG_R14}, {15, REG_R15}};

using Registers = decltype(mcontext_t::gregs);

std::uintptr_t get(const Registers& registers, int place) { return static_cast<std::uintptr_t>(registers[place]); }
void set_register(Registers& registers, int place, std::uintptr_t value) {
    registers[place] = static_cast<greg_t>(value);
}
std::uintptr_t load(std::uintptr_t address) { return *reinterpret_cast<const std::uintptr_t*>(address); }

struct Walk {
    std::span<std::uintptr_t> addresses;
    std::size_t count = 0;
    std::uintptr_t from = 0;   // where the interrupted code is in the context
    bool interrupted = false;  // the frames of the signal handler are over
    bool full = false;
    std::uintptr_t last = 0;  // address in the last frame, as its caller returns to it
    Registers registers{};    // in the last frame
};

_Unwind_Reason_Code step(_Unwind_Context* frame, void* data) {
    Walk& walk = *static_cast<Walk*>(data);
    int before = 0;
    const std::uintptr_t address = _Unwind_GetIPInfo(frame, &before);
    walk.interrupted = walk.interrupted || (before != 0 && address == walk.from);
    if (!walk.interrupted) return _URC_NO_REASON;
    walk.last = address;
    if (address == 0) return _URC_NO_REASON;
    if (walk.count == walk.addresses.size()) {
        walk.full = true;
        return _URC_NORMAL_STOP;
    }
    walk.addresses[walk.count++] = before != 0 ? address : address - 1;
    for (const Preserved& each : preserved) set_register(walk.registers, each.place, _Unwind_GetGR(frame, each.dwarf));
    set_register(walk.registers, REG_RSP, _Unwind_GetCFA(frame));
    return _URC_NO_REASON;
}

const MadeCode::Call* call_at(const MadeCode& made, std::uintptr_t address) {
    const auto after = std::upper_bound(made.calls.begin(), made.calls.end(), address,
                                        [](std::uintptr_t a, const MadeCode::Call& call) { return a < call.begin; });
    if (after == made.calls.begin()) return nullptr;
    const MadeCode::Call& found = *std::prev(after);
    return address < found.end ? &found : nullptr;
}

bool is_thunk(const MadeCode& made, std::uintptr_t address) {
    return address >= made.thunks_begin && address < made.thunks_end;
}

// From the frame of code that optctx made to the one of LLVM outside it. Enters its registers, with an instruction in
// it. False if the address is in no such code.
bool leave(const MadeCode& made, std::uintptr_t address, Registers& registers) {
    if (!is_thunk(made, address) && call_at(made, address) == nullptr) return false;
    while (is_thunk(made, address)) {  // push rbp; mov rbp, rsp
        const std::uintptr_t frame = get(registers, REG_RBP);
        set_register(registers, REG_RBP, load(frame));
        address = load(frame + word);
        set_register(registers, REG_RSP, frame + 2 * word);
    }
    const MadeCode::Call* call = call_at(made, address);
    set_register(registers, REG_RIP, call != nullptr ? call->site : address - 1);
    return true;
}

// The registers as they were when LLVM came to the site. False if the address is none of the `uses`.
bool undo(const MadeCode& made, ucontext_t& context) {
    Registers& registers = context.uc_mcontext.gregs;
    const auto at = std::lower_bound(made.uses.begin(), made.uses.end(), get(registers, REG_RIP),
                                     [](const MadeCode::Use& use, std::uintptr_t a) { return use.address < a; });
    if (at == made.uses.end() || at->address != get(registers, REG_RIP)) return false;
    set_register(registers, REG_RIP, at->site);
    if (!at->saved) return true;
    const std::uintptr_t stack = get(registers, REG_RSP);
    arch::set_general_register(context, at->scratch, load(stack));
    set_register(registers, REG_RSP, stack + word + red_zone);
    return true;
}

}  // namespace

Unwound unwind(ucontext_t& context, const MadeCode& made, std::span<std::uintptr_t> addresses) noexcept {
    Registers& registers = context.uc_mcontext.gregs;
    Registers before;
    std::memcpy(before, registers, sizeof before);
    if (!undo(made, context)) return {};
    Walk walk{.addresses = addresses};
    bool whole = false;
    for (;;) {
        const std::uintptr_t stack = get(registers, REG_RSP);
        walk.interrupted = false;
        walk.from = get(registers, REG_RIP);
        const _Unwind_Reason_Code ended = _Unwind_Backtrace(&step, &walk);
        if (walk.full || ended != _URC_END_OF_STACK || !walk.interrupted) break;
        if (leave(made, walk.last, walk.registers)) {
            --walk.count;  // the frame of the code that optctx made
            if (get(walk.registers, REG_RSP) <= stack) break;
            std::memcpy(registers, walk.registers, sizeof registers);
            continue;
        }
        whole = walk.last == 0 || _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(walk.last)) != nullptr;
        break;
    }
    std::memcpy(registers, before, sizeof before);
    return {walk.count, whole};
}

}  // namespace optctx::lab

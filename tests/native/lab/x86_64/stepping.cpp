#include "lab/stepping.hpp"

namespace optctx::lab::stepping {
namespace {

// Page-fault error code (Intel SDM vol. 3A, 4.7).
constexpr greg_t by_write = 2;
constexpr greg_t by_fetch = 16;

constexpr greg_t trap_flag = 1 << 8;
constexpr greg_t debug_exception = 1;  // Intel SDM vol. 3A, 6.15: #DB, not #BP, which int3 raises
// movs may cross two page boundaries. Gathers touch more pages, but resume where a fault stopped them.
constexpr unsigned most_pages = 8;

struct Step {
    std::uintptr_t pages[most_pages];
    unsigned count;
    bool masked;  // the thread blocks SIGTRAP, so a trap would kill it
    std::uintptr_t retried;
};

// initial-exec: an access in a signal handler must not allocate.
__attribute__((tls_model("initial-exec"))) constinit thread_local Step step{};

}  // namespace

Attempt attempt_of(const ucontext_t& context) noexcept {
    const greg_t error = context.uc_mcontext.gregs[REG_ERR];
    if ((error & by_fetch) != 0) return Attempt::fetch;
    return (error & by_write) != 0 ? Attempt::write : Attempt::read;
}

bool begin(ucontext_t& context, std::uintptr_t page) noexcept {
    if (step.count == 0) step.masked = sigismember(&context.uc_sigmask, SIGTRAP) == 1;
    sigdelset(&context.uc_sigmask, SIGTRAP);
    context.uc_mcontext.gregs[REG_EFL] |= trap_flag;
    step.retried = 0;
    if (step.count == most_pages) return false;
    step.pages[step.count++] = page;
    return true;
}

bool end(const siginfo_t& trap, ucontext_t& context, void (*close)(std::uintptr_t) noexcept) noexcept {
    // Do not rely on si_code: the kernel takes it from the debug status register, whose single-step bit is lost if a
    // virtual machine is interrupted at this moment. The kernel then reports TRAP_BRKPT instead of TRAP_TRACE.
    auto& registers = context.uc_mcontext.gregs;
    if (step.count == 0 || trap.si_code <= 0 || registers[REG_TRAPNO] != debug_exception ||
        (registers[REG_EFL] & trap_flag) == 0)
        return false;
    while (step.count != 0) close(step.pages[--step.count]);
    registers[REG_EFL] &= ~trap_flag;
    if (step.masked) sigaddset(&context.uc_sigmask, SIGTRAP);
    return true;
}

bool retry(std::uintptr_t instruction) noexcept {
    if (step.retried == instruction) return false;
    step.retried = instruction;
    return true;
}

}  // namespace optctx::lab::stepping

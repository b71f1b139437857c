#include "audit/stepping.hpp"

#include <signal.h>

namespace optctx::audit::stepping {
namespace {

constexpr greg_t trap_flag = 1 << 8;
// movs may cross two page ends. Gathers touch more pages, but carry on where a fault stopped them.
constexpr unsigned most_pages = 8;

struct Step {
    std::uintptr_t pages[most_pages];
    unsigned count;
    bool masked;  // the thread blocks SIGTRAP, which would be fatal for it
    std::uintptr_t retried;
};

// initial-exec: no access may allocate, in a signal handler.
__attribute__((tls_model("initial-exec"))) constinit thread_local Step step{};

}  // namespace

bool begin(ucontext_t& context, std::uintptr_t page) noexcept {
    if (step.count == 0) step.masked = sigismember(&context.uc_sigmask, SIGTRAP) == 1;
    sigdelset(&context.uc_sigmask, SIGTRAP);
    context.uc_mcontext.gregs[REG_EFL] |= trap_flag;
    step.retried = 0;
    if (step.count == most_pages) return false;
    step.pages[step.count++] = page;
    return true;
}

bool under_way() noexcept { return step.count != 0; }

namespace detail {

std::uintptr_t last_opened() noexcept { return step.count == 0 ? 0 : step.pages[--step.count]; }

void go_on(ucontext_t& context) noexcept {
    context.uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    if (step.masked) sigaddset(&context.uc_sigmask, SIGTRAP);
}

}  // namespace detail

bool retry(std::uintptr_t instruction) noexcept {
    if (step.retried == instruction) return false;
    step.retried = instruction;
    return true;
}

}  // namespace optctx::audit::stepping

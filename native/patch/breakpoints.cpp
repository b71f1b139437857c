#include "patch/breakpoints.hpp"

#include "os/fork_locks.hpp"
#include "os/os.hpp"

#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

namespace optctx::patch {
namespace {

struct Table {
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> pairs;
    const Table* next;
};

auto& mutex = *new os::ForkSafeMutex(os::Rank::breakpoints);  // of what follows
bool installed = false;
// Read by the signal handler: a list that only grows at its head, made of immutable parts.
std::atomic<const Table*> tables{nullptr};
struct sigaction previous{};

const std::uintptr_t* find_trampoline(std::uintptr_t site) {
    for (const Table* table = tables.load(std::memory_order_acquire); table != nullptr; table = table->next) {
        const auto found = std::lower_bound(table->pairs.begin(), table->pairs.end(), site,
                                            [](const auto& pair, std::uintptr_t a) { return pair.first < a; });
        if (found != table->pairs.end() && found->first == site) return &found->second;
    }
    return nullptr;
}

void on_trap(int signal, siginfo_t* info, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    // After int3 the instruction pointer is one past the breakpoint.
    const auto site = static_cast<std::uintptr_t>(registers[REG_RIP]) - 1;
    if (const std::uintptr_t* trampoline = find_trampoline(site)) {
        registers[REG_RIP] = static_cast<greg_t>(*trampoline);
        return;
    }
    if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
        previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler == SIG_DFL) {
        ::signal(SIGTRAP, SIG_DFL);
        raise(SIGTRAP);
    } else if (previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal);
    }
}

void install() {
    struct sigaction action{};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGTRAP, &action, &previous) != 0) throw os::OsError("sigaction(SIGTRAP)", 0, errno);
}

}  // namespace

void expect_breakpoints(std::vector<std::pair<std::uintptr_t, std::uintptr_t>> pairs) {
    const std::lock_guard lock(mutex);
    if (!installed) install();
    installed = true;
    // Reachable for ever, on purpose; see the header.
    tables.store(new Table{std::move(pairs), tables.load(std::memory_order_relaxed)}, std::memory_order_release);
}

}  // namespace optctx::patch

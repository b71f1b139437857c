#include "os/signals.hpp"

#include "os/fork_locks.hpp"
#include "os/os.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <stdexcept>

namespace optctx::os {
namespace {

struct Asked {
    std::atomic<SignalHandler> handler{nullptr};
    unsigned users = 0;
};

// Guards everything except the handler pointers and `previous`, which the signal handler reads.
auto& mutex = *new ForkSafeMutex(Rank::handlers);
std::array<Asked, 4> all_asked{};  // one for each purpose
struct sigaction previous{};
bool installed = false;

// Ends the process as if no handler had been installed: a fault recurs when its instruction runs again.
void die(bool comes_again) {
    ::signal(SIGSEGV, SIG_DFL);
    if (!comes_again) raise(SIGSEGV);
}

void pass_on(siginfo_t* info, void* context) {
    const bool by_processor = info->si_code > 0;
    const bool plain = (previous.sa_flags & SA_SIGINFO) == 0;
    if (plain && previous.sa_handler == SIG_DFL) return die(by_processor);
    if (plain && previous.sa_handler == SIG_IGN) {
        if (by_processor) die(by_processor);  // the kernel ignores only signals that were sent
        return;
    }
    if ((previous.sa_flags & SA_RESETHAND) != 0) ::signal(SIGSEGV, SIG_DFL);
    if (plain)
        previous.sa_handler(SIGSEGV);
    else
        previous.sa_sigaction(SIGSEGV, info, context);
}

void on_signal(int, siginfo_t* info, void* context) {
    for (const Asked& asked : all_asked) {
        const SignalHandler handler = asked.handler.load(std::memory_order_acquire);
        if (handler != nullptr && handler(*info, *static_cast<ucontext_t*>(context))) return;
    }
    pass_on(info, context);
}

struct sigaction action_now() {
    struct sigaction now{};
    if (sigaction(SIGSEGV, nullptr, &now) != 0) throw OsError("sigaction", 0, errno);
    return now;
}

bool stands_first() {
    const struct sigaction now = action_now();
    return (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal;
}

// True if there is no handler, and so none that would pass signals on to this one.
bool was_removed() {
    const struct sigaction now = action_now();
    return (now.sa_flags & SA_SIGINFO) == 0 && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
}

void check_first() {
    if (!stands_first())
        throw std::runtime_error("another handler of SIGSEGV was installed over the one that optctx works with");
}

void install() {
    previous = action_now();
    struct sigaction action = previous;  // keeps the signal mask that the previous handler expects
    action.sa_sigaction = on_signal;
    // A previous handler may raise the signal itself.
    action.sa_flags = (action.sa_flags & SA_RESTART) | SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    if (sigaction(SIGSEGV, &action, nullptr) != 0) throw OsError("sigaction", 0, errno);
    installed = true;
}

Asked& place_of(SignalHandler handler) {
    for (Asked& asked : all_asked)
        if (asked.handler.load() == handler) return asked;
    for (Asked& asked : all_asked)
        if (asked.handler.load() == nullptr) return asked;
    throw std::runtime_error("no room for another signal handler");
}

}  // namespace

FirstHandler::FirstHandler(SignalHandler handler) : handler_(handler) {
    const std::lock_guard lock(mutex);
    Asked& asked = place_of(handler);
    if (installed && !was_removed())
        check_first();
    else
        install();
    asked.handler = handler;
    ++asked.users;
}

FirstHandler::~FirstHandler() {
    const std::lock_guard lock(mutex);
    Asked& asked = place_of(handler_);
    if (--asked.users == 0) asked.handler = nullptr;
    try {
        const bool is_used = std::ranges::any_of(all_asked, [](const Asked& each) { return each.users > 0; });
        if (!is_used && stands_first()) installed = sigaction(SIGSEGV, &previous, nullptr) != 0;
    } catch (const OsError&) {
        // This handler stays installed, and passes everything on.
    }
}

void check_asked_first() {
    const std::lock_guard lock(mutex);
    check_first();
}

bool is_blocked() {
    sigset_t blocked;
    if (const int failed = pthread_sigmask(SIG_BLOCK, nullptr, &blocked); failed != 0)
        throw OsError("pthread_sigmask", 0, failed);
    return sigismember(&blocked, SIGSEGV) == 1;
}

}  // namespace optctx::os

#include "os/signals.hpp"

#include "os/fork_locks.hpp"
#include "os/os.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <stdexcept>
#include <string>

namespace optctx::os {
namespace {

struct Asked {
    std::atomic<SignalHandler> handler{nullptr};
    unsigned users = 0;
};

struct Hook {
    int signal;
    const char* name;
    std::array<Asked, 4> asked{};  // one for each purpose
    struct sigaction previous{};
    bool installed = false;
};

// Guards everything except the handler pointers and `previous`, which a signal handler reads.
auto& mutex = *new ForkSafeMutex(Rank::handlers);
Hook fault{SIGSEGV, "SIGSEGV"};
Hook trap{SIGTRAP, "SIGTRAP"};

Hook& hook_of(int signal) { return signal == SIGSEGV ? fault : trap; }

// Ends the process as if no handler had been installed: a fault recurs when its instruction runs again.
void die(int signal, bool comes_again) {
    ::signal(signal, SIG_DFL);
    if (!comes_again) raise(signal);
}

void pass_on(const Hook& hook, siginfo_t* info, void* context) {
    const struct sigaction& previous = hook.previous;
    const bool by_processor = info->si_code > 0;
    const bool comes_again = by_processor && hook.signal == SIGSEGV;
    const bool plain = (previous.sa_flags & SA_SIGINFO) == 0;
    if (plain && previous.sa_handler == SIG_DFL) return die(hook.signal, comes_again);
    if (plain && previous.sa_handler == SIG_IGN) {
        if (by_processor) die(hook.signal, comes_again);  // the kernel ignores only signals that were sent
        return;
    }
    if ((previous.sa_flags & SA_RESETHAND) != 0) ::signal(hook.signal, SIG_DFL);
    if (plain)
        previous.sa_handler(hook.signal);
    else
        previous.sa_sigaction(hook.signal, info, context);
}

void on_signal(int signal, siginfo_t* info, void* context) {
    const Hook& hook = hook_of(signal);
    for (const Asked& asked : hook.asked) {
        const SignalHandler handler = asked.handler.load(std::memory_order_acquire);
        if (handler != nullptr && handler(*info, *static_cast<ucontext_t*>(context))) return;
    }
    pass_on(hook, info, context);
}

struct sigaction action_of(const Hook& hook) {
    struct sigaction now{};
    if (sigaction(hook.signal, nullptr, &now) != 0) throw OsError("sigaction", 0, errno);
    return now;
}

bool stands_first(const Hook& hook) {
    const struct sigaction now = action_of(hook);
    return (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal;
}

// True if there is no handler, and so none that would pass signals on to this one.
bool was_removed(const Hook& hook) {
    const struct sigaction now = action_of(hook);
    return (now.sa_flags & SA_SIGINFO) == 0 && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
}

void check_first(const Hook& hook) {
    if (!stands_first(hook))
        throw std::runtime_error(std::string("another handler of ") + hook.name +
                                 " was installed over the one that optctx works with");
}

void install(Hook& hook) {
    hook.previous = action_of(hook);
    struct sigaction action = hook.previous;  // keeps the signal mask that the previous handler expects
    action.sa_sigaction = on_signal;
    // A previous handler may raise the signal itself.
    action.sa_flags = (action.sa_flags & SA_RESTART) | SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    if (sigaction(hook.signal, &action, nullptr) != 0) throw OsError("sigaction", 0, errno);
    hook.installed = true;
}

Asked& place_of(Hook& hook, SignalHandler handler) {
    for (Asked& asked : hook.asked)
        if (asked.handler.load() == handler) return asked;
    for (Asked& asked : hook.asked)
        if (asked.handler.load() == nullptr) return asked;
    throw std::runtime_error("no room for another signal handler");
}

}  // namespace

FirstHandler::FirstHandler(int signal, SignalHandler handler) : signal_(signal), handler_(handler) {
    const std::lock_guard lock(mutex);
    Hook& hook = hook_of(signal);
    Asked& asked = place_of(hook, handler);
    if (hook.installed && !was_removed(hook))
        check_first(hook);
    else
        install(hook);
    asked.handler = handler;
    ++asked.users;
}

FirstHandler::~FirstHandler() {
    const std::lock_guard lock(mutex);
    Hook& hook = hook_of(signal_);
    Asked& asked = place_of(hook, handler_);
    if (--asked.users == 0) asked.handler = nullptr;
    try {
        const bool is_used = std::ranges::any_of(hook.asked, [](const Asked& each) { return each.users > 0; });
        if (!is_used && stands_first(hook)) hook.installed = sigaction(hook.signal, &hook.previous, nullptr) != 0;
    } catch (const OsError&) {
        // This handler stays installed, and passes everything on.
    }
}

void FirstHandler::check() const {
    const std::lock_guard lock(mutex);
    check_first(hook_of(signal_));
}

bool is_asked_first(int signal) {
    const std::lock_guard lock(mutex);
    return stands_first(hook_of(signal));
}

bool is_blocked(int signal) {
    sigset_t blocked;
    if (const int failed = pthread_sigmask(SIG_BLOCK, nullptr, &blocked); failed != 0)
        throw OsError("pthread_sigmask", 0, failed);
    return sigismember(&blocked, signal) == 1;
}

}  // namespace optctx::os

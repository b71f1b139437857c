#include "audit/signals.hpp"

#include "os/os.hpp"

#include <cerrno>
#include <stdexcept>

namespace optctx::audit {
namespace {

struct Hook {
    int signal;
    void (*entry)(int, siginfo_t*, void*);
    SignalHandler handler;
    struct sigaction previous;
    bool installed;
};

void on_signal(int signal, siginfo_t* info, void* context);

Hook fault{SIGSEGV, on_signal, nullptr, {}, false};
Hook trap{SIGTRAP, on_signal, nullptr, {}, false};

// Fatal as if no handler had been there: a fault comes again when its instruction is run again.
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
        if (by_processor) die(hook.signal, comes_again);  // the kernel ignores only what somebody sent
        return;
    }
    if ((previous.sa_flags & SA_RESETHAND) != 0) ::signal(hook.signal, SIG_DFL);
    if (plain)
        previous.sa_handler(hook.signal);
    else
        previous.sa_sigaction(hook.signal, info, context);
}

void on_signal(int signal, siginfo_t* info, void* context) {
    const Hook& hook = signal == fault.signal ? fault : trap;
    if (!hook.handler(*info, *static_cast<ucontext_t*>(context))) pass_on(hook, info, context);
}

bool stands_first(const Hook& hook) {
    struct sigaction now{};
    if (sigaction(hook.signal, nullptr, &now) != 0) throw os::OsError("sigaction", 0, errno);
    return (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == hook.entry;
}

void install(Hook& hook, SignalHandler handler) {
    if (hook.installed) {
        if (!stands_first(hook))
            throw std::runtime_error("a signal handler was installed over that of an earlier audit");
        return;
    }
    if (sigaction(hook.signal, nullptr, &hook.previous) != 0) throw os::OsError("sigaction", 0, errno);
    hook.handler = handler;
    struct sigaction action = hook.previous;  // its mask is the one that its handler expects
    action.sa_sigaction = hook.entry;
    // A handler behind this one may touch a protected page itself.
    action.sa_flags = (action.sa_flags & SA_RESTART) | SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    if (sigaction(hook.signal, &action, nullptr) != 0) throw os::OsError("sigaction", 0, errno);
    hook.installed = true;
}

void uninstall(Hook& hook) noexcept {
    try {
        if (hook.installed && stands_first(hook)) hook.installed = sigaction(hook.signal, &hook.previous, nullptr) != 0;
    } catch (const os::OsError&) {
        // It stays, and passes everything on.
    }
}

}  // namespace

void install(SignalHandler on_fault, SignalHandler on_trap) {
    install(trap, on_trap);
    try {
        install(fault, on_fault);
    } catch (...) {
        uninstall(trap);
        throw;
    }
}

void uninstall() noexcept {
    uninstall(fault);
    uninstall(trap);
}

}  // namespace optctx::audit

// Handlers of SIGSEGV, installed before any existing handler.
#pragma once

#include <signal.h>
#include <ucontext.h>

namespace optctx::os {

// Called in a signal handler. Returns true if it handled the signal and the thread can continue.
using SignalHandler = bool (*)(const siginfo_t&, ucontext_t&) noexcept;

// While it lives, every thread asks this handler first. Signals that no first handler accepts go to the previous
// handler, as if these were not installed. The last first handler to be destroyed restores the previous one, unless
// other code has since installed a handler on top, which may pass signals on.
class FirstHandler {
public:
    // Throws std::runtime_error if other code has installed a handler on top of existing first handlers. If other code
    // has removed them, installs them again.
    explicit FirstHandler(SignalHandler handler);
    FirstHandler(const FirstHandler&) = delete;
    FirstHandler& operator=(const FirstHandler&) = delete;
    ~FirstHandler();

private:
    SignalHandler handler_;
};

// Throws std::runtime_error if other code has installed a handler on top, or if there is no first handler.
void check_asked_first();

// True if this thread blocks the signal, so that it would kill the thread in spite of a handler.
bool is_blocked();

}  // namespace optctx::os

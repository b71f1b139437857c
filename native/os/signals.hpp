// Handlers of signals that the processor raises, put before whatever handles them already.
#pragma once

#include <signal.h>
#include <ucontext.h>

namespace optctx::os {

// Called in a signal handler. True: the signal was for it, and the thread can go on.
using SignalHandler = bool (*)(const siginfo_t&, ucontext_t&) noexcept;

// While it lives, the handler is asked first, by every thread. What is for none of those that are asked first goes to
// the handler that was there, as if nobody stood before it. That one is put back with the last of these, unless
// somebody else's stands before it by then, which may pass signals on.
class FirstHandler {
public:
    // Throws std::runtime_error where somebody else's handler was put before ones that are asked first already. Where
    // those were removed, they are put back.
    FirstHandler(int signal, SignalHandler handler);
    FirstHandler(const FirstHandler&) = delete;
    FirstHandler& operator=(const FirstHandler&) = delete;
    ~FirstHandler();
    // Throws as the constructor does.
    void check() const;

private:
    int signal_;
    SignalHandler handler_;
};

// False if somebody else's handler was put before those that are asked first, or none of them lives.
bool is_asked_first(int signal);

// True if this thread would be killed by the signal, handler or not.
bool is_blocked(int signal);

}  // namespace optctx::os

// One instruction of this thread with protected pages open: how an access goes on.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace optctx::audit::stepping {

// The interrupted instruction may use the page that was opened at `page`; after it comes a trap. May be called again
// before that: an instruction can touch several pages. False if they are more than can be closed again.
bool begin(ucontext_t& context, std::uintptr_t page) noexcept;
// True if this trap ends the step of this thread.
bool ended_by(const siginfo_t& trap, const ucontext_t& context) noexcept;

namespace detail {
std::uintptr_t last_opened() noexcept;  // 0: none is left
void go_on(ucontext_t& context) noexcept;
}  // namespace detail

// At the trap: `close` gets every page that was opened, and the thread goes on without steps.
template <class Close>
void end(ucontext_t& context, Close close) noexcept {
    while (const std::uintptr_t page = detail::last_opened()) close(page);
    detail::go_on(context);
}

// An instruction that met a page which is open by now may be run again, but only once on end.
bool retry(std::uintptr_t instruction) noexcept;

}  // namespace optctx::audit::stepping

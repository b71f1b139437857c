// Whether scopes reach LLVM at this moment. A thread that enters, records or binds is counted first and asks this
// then; a thread that detaches answers no first and counts then. So one of the two notices the other.
#pragma once

namespace optctx::view {

bool is_attached() noexcept;
void set_attached(bool on) noexcept;

}  // namespace optctx::view

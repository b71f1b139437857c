// Whether scopes reach an image now. A thread that enters, records or binds first counts itself, then asks
// `is_attached`. A thread that detaches first clears the flag, then reads the counts. At least one of the two notices
// the other.
#pragma once

namespace optctx::view {

bool is_attached(unsigned image) noexcept;
void set_attached(unsigned image, bool on) noexcept;

}  // namespace optctx::view

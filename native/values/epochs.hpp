// When options are changed for the whole process.
#pragma once

#include "views/view.hpp"

#include <atomic>
#include <cstdint>

namespace optctx::values {

// Incremented at the beginning of each change in the image and when it is undone: odd in between. Only ProcessWide
// writes to it.
inline views::PerImage<std::atomic<std::uint64_t>> process_wide_epochs{};
inline std::uint64_t process_wide_epoch(unsigned image) noexcept { return process_wide_epochs[image].load(); }

}  // namespace optctx::values

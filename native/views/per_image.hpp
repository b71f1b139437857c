// What each image has one of, and whether scopes reach the image now.
#pragma once

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>

namespace optctx::views {

// A process may contain several LLVMs; every thread has one view for each.
inline constexpr unsigned max_images = 8;

// What each image has one of, by index. Access takes one addition: no lock and no lookup.
template <class T>
using PerImage = std::array<T, max_images>;
// Returns the index. Throws std::out_of_range if it is not one of an image.
inline unsigned checked_image(unsigned image) {
    if (image < max_images) return image;
    throw std::out_of_range("expected the index of an image, below " + std::to_string(max_images) + ", found " +
                            std::to_string(image));
}

// A thread that enters, records or binds first counts itself, then asks `is_attached`. A thread that detaches first
// clears the flag, then reads the counts. At least one of the two notices the other.
inline PerImage<std::atomic<bool>> attached{};
inline bool is_attached(unsigned image) noexcept { return attached[image].load(); }
inline void set_attached(unsigned image, bool on) noexcept { attached[image].store(on); }

}  // namespace optctx::views

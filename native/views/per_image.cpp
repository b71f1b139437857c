#include "views/per_image.hpp"

#include <atomic>
#include <stdexcept>
#include <string>

namespace optctx::views {
namespace {

PerImage<std::atomic<bool>> attached{};

}  // namespace

unsigned checked_image(unsigned image) {
    if (image < max_images) return image;
    throw std::out_of_range("expected the index of an image, below " + std::to_string(max_images) + ", found " +
                            std::to_string(image));
}

bool is_attached(unsigned image) noexcept { return attached[image].load(); }
void set_attached(unsigned image, bool on) noexcept { attached[image].store(on); }

}  // namespace optctx::views

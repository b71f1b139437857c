#include "view/attachment.hpp"

#include "view/slots.hpp"

#include <atomic>

namespace optctx::view {
namespace {

PerImage<std::atomic<bool>> attached{};

}  // namespace

bool is_attached(unsigned image) noexcept { return attached[image].load(); }
void set_attached(unsigned image, bool on) noexcept { attached[image].store(on); }

}  // namespace optctx::view

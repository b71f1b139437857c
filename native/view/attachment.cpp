#include "view/attachment.hpp"

#include <atomic>

namespace optctx::view {
namespace {

std::atomic<bool> attached{false};

}  // namespace

bool is_attached() noexcept { return attached.load(); }
void set_attached(bool on) noexcept { attached.store(on); }

}  // namespace optctx::view

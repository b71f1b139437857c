#include "view/capture.hpp"

#include "image/option_layout.hpp"

#include <cstring>

namespace optctx::view {

Capture::Capture(unsigned image, const Region& stream_region, std::uint32_t stream, std::size_t slots,
                 std::size_t room)
    : image_(image),
      previous_(current_view(image)),
      view_(identity_view(image), identity_view(image) + slots),
      stream_((stream_region.size + 7) / 8),
      buffer_(room) {
    std::memcpy(stream_.data(), reinterpret_cast<const void*>(stream_region.live), stream_region.size);
    auto* raw = reinterpret_cast<image::RawOstream*>(stream_.data());
    raw->begin = raw->cursor = buffer_.data();
    raw->end = buffer_.data() + buffer_.size();
    view_[stream] = stream_.data();
    set_current_view(image_, view_.data());
}

Capture::~Capture() { set_current_view(image_, previous_); }

std::string Capture::text() const {
    const auto* raw = reinterpret_cast<const image::RawOstream*>(stream_.data());
    return {raw->begin, raw->cursor};
}

}  // namespace optctx::view

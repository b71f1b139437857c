#include "view/capture.hpp"

#include "image/option_layout.hpp"

#include <cstring>

namespace optctx::view {
namespace {

// LLVM is built without exceptions but with unwind tables: its frames are passed over, nothing in them runs.
[[noreturn]] void throw_fatal(void*, const char* reason, bool) { throw FatalError(reason); }

}  // namespace

Capture::Capture(unsigned image, const std::vector<Region>& regions, const Reporting& slots, std::size_t room)
    : image_(image),
      previous_(current_view(image)),
      view_(identity_view(image), identity_view(image) + regions.size()),
      stream_((regions.at(slots.stream).size + 7) / 8),
      buffer_(room) {
    const Region& stream = regions.at(slots.stream);
    std::memcpy(stream_.data(), reinterpret_cast<const void*>(stream.live), stream.size);
    auto* raw = reinterpret_cast<image::RawOstream*>(stream_.data());
    raw->begin = raw->cursor = buffer_.data();
    raw->end = buffer_.data() + buffer_.size();
    view_.at(slots.stream) = stream_.data();
    static void (*handler)(void*, const char*, bool) = throw_fatal;
    static void* data = nullptr;
    view_.at(slots.fatal_handler) = &handler;
    view_.at(slots.fatal_data) = &data;
    set_current_view(image_, view_.data());
}

Capture::~Capture() { set_current_view(image_, previous_); }

std::string Capture::text() const {
    const auto* raw = reinterpret_cast<const image::RawOstream*>(stream_.data());
    return {raw->begin, raw->cursor};
}

}  // namespace optctx::view

// Capturing through the thread's view: it shows a stream and a fatal error handler of its own.
#include "view/capture.hpp"

#include "image/option_layout.hpp"

#include <cstring>
#include <vector>

namespace optctx::view {
namespace {

// LLVM is built without exceptions but with unwind tables: its frames are passed over, nothing in them runs.
[[noreturn]] void throw_fatal(void*, const char* reason, bool) { throw FatalError(reason); }

class ViewCapture final : public Capture {
public:
    // More than `room` bytes would reach standard error.
    ViewCapture(unsigned image, std::size_t slot_count, const ReportingSlots& slots, std::size_t room)
        : image_(image),
          previous_(current_view(image)),
          view_(identity_view(image), identity_view(image) + slot_count),
          stream_((slots.stream_size + 7) / 8),
          buffer_(room) {
        std::memcpy(stream_.data(), view_.at(slots.stream), slots.stream_size);
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
    ~ViewCapture() override { set_current_view(image_, previous_); }

    std::string text() const override {
        const auto* raw = reinterpret_cast<const image::RawOstream*>(stream_.data());
        return {raw->begin, raw->cursor};
    }

private:
    unsigned image_;
    View previous_;
    std::vector<void*> view_;
    std::vector<std::uint64_t> stream_;  // 8-byte aligned copy
    std::vector<char> buffer_;
};

class ViewReporter final : public Reporter {
public:
    ViewReporter(unsigned image, std::size_t slot_count, const ReportingSlots& slots)
        : image_(image), slot_count_(slot_count), slots_(slots) {}
    std::unique_ptr<Capture> capture(std::size_t room) override {
        return std::make_unique<ViewCapture>(image_, slot_count_, slots_, room);
    }

private:
    unsigned image_;
    std::size_t slot_count_;
    ReportingSlots slots_;
};

}  // namespace

std::unique_ptr<Reporter> view_reporter(unsigned image, std::size_t slot_count, const ReportingSlots& slots) {
    return std::make_unique<ViewReporter>(image, slot_count, slots);
}

}  // namespace optctx::view

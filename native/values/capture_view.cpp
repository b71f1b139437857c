// Captures through the thread's view, which shows a stream and a fatal error handler of the capture's own.
#include "image/layouts.hpp"
#include "os/fork_locks.hpp"
#include "values/capture.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace optctx::values {
namespace {

// LLVM is built without exceptions but with unwind tables: the exception passes through its frames and runs nothing
// there.
[[noreturn]] void throw_fatal(void*, const char* reason, bool) { throw FatalError(reason); }

// Pools copies of the identity view. Making a copy takes longer than most parses that are captured.
class Copies {
public:
    Copies(unsigned image, std::shared_ptr<const views::Layout> layout) : image_(image), layout_(std::move(layout)) {}
    unsigned image() const noexcept { return image_; }

    std::vector<void*> take() {
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) {
            const views::View identity = views::identity_view(image_);
            std::vector<void*> copy(identity, identity + layout_->size());
            layout_->spread(copy.data());
            return copy;
        }
        std::vector<void*> copy = std::move(idle_.back());
        idle_.pop_back();
        return copy;
    }

    void give(std::vector<void*> copy) {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(copy));
    }

private:
    unsigned image_;
    std::shared_ptr<const views::Layout> layout_;
    os::ForkSafeMutex mutex_{os::Rank::captures};
    std::vector<std::vector<void*>> idle_;
};

class ViewCapture final : public Capture {
public:
    // Output beyond `room` bytes would reach standard error.
    ViewCapture(Copies& copies, const ReportingSlots& slots, std::size_t room)
        : copies_(copies),
          slots_(slots),
          previous_(views::current_view(copies.image())),
          view_(copies.take()),
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
        views::set_current_view(copies.image(), view_.data());
    }
    ~ViewCapture() override {
        views::set_current_view(copies_.image(), previous_);
        for (const std::uint32_t slot : {slots_.stream, slots_.fatal_handler, slots_.fatal_data})
            view_[slot] = views::identity_view(copies_.image())[slot];
        copies_.give(std::move(view_));
    }

    std::string text() const override {
        const auto* raw = reinterpret_cast<const image::RawOstream*>(stream_.data());
        return {raw->begin, raw->cursor};
    }

private:
    Copies& copies_;
    ReportingSlots slots_;
    views::View previous_;
    std::vector<void*> view_;
    std::vector<std::uint64_t> stream_;  // copy of the stream object, aligned to 8 bytes
    std::vector<char> buffer_;
};

class ViewReporter final : public Reporter {
public:
    ViewReporter(unsigned image, std::shared_ptr<const views::Layout> layout, const ReportingSlots& slots)
        : copies_(image, std::move(layout)), slots_(slots) {}
    std::unique_ptr<Capture> capture(std::size_t room) override {
        return std::make_unique<ViewCapture>(copies_, slots_, room);
    }

private:
    Copies copies_;
    ReportingSlots slots_;
};

}  // namespace

std::unique_ptr<Reporter> view_reporter(unsigned image, std::shared_ptr<const views::Layout> layout,
                                        const ReportingSlots& slots) {
    return std::make_unique<ViewReporter>(image, std::move(layout), slots);
}

}  // namespace optctx::values

#include "values/tap.hpp"

#include <cstring>
#include <utility>

namespace optctx::values {
namespace {

using image::RawOstream;

// LLVM is built without exceptions but with unwind tables: the exception passes through its frames and runs nothing
// there.
[[noreturn]] void throw_fatal(void*, const char* reason, bool) { throw FatalError(reason); }

void write(RawOstream* stream, const char* bytes, std::size_t count) {
    static_cast<std::string*>(reinterpret_cast<void**>(stream)[-1])->append(bytes, count);
}

// The vtable pointer leads to the third word of a table.
constexpr std::size_t words_before_functions = 2;  // offset to top, type info

}  // namespace

OwnStream::OwnStream(std::size_t size) : words_(first + (size + sizeof(void*) - 1) / sizeof(void*)), size_(size) {
    words_[first - 1] = &text_;
}

// A copy of the stream's own functions, with another write_impl, and the words before them.
void OwnStream::make_functions(const void* live, const StreamFunctions& functions) {
    const auto own = *static_cast<const std::uintptr_t*>(live);
    functions_.resize(functions.size / sizeof(void*) + words_before_functions);
    std::memcpy(functions_.data(), reinterpret_cast<void* const*>(own) - words_before_functions,
                functions_.size() * sizeof(void*));
    functions_.at(words_before_functions + functions.write_index) = reinterpret_cast<void*>(&write);
}

void OwnStream::begin(const void* live) {
    text_.clear();
    std::memcpy(address(), live, size_);
    raw()->vtable = functions_.data() + words_before_functions;
    raw()->begin = raw()->cursor = buffer_.data();
    raw()->end = buffer_.data() + buffer_.size();
}

std::string OwnStream::text() const { return text_ + std::string(raw()->begin, raw()->cursor); }

Tap::Tap(unsigned image, std::shared_ptr<const views::Layout> layout, const ReportingSlots& slots)
    : image_(image), layout_(std::move(layout)), slots_(slots), handler_(&throw_fatal), stream_(slots.stream_size) {}

void Tap::open() {
    if (view_.empty()) make_view();
    stream_.begin(views::identity_view(image_)[slots_.stream]);
    previous_ = views::current_view(image_);
    views::set_current_view(image_, view_.data());
}

// Takes longer than most parses.
void Tap::make_view() {
    const views::View identity = views::identity_view(image_);
    std::vector<void*> view(identity, identity + layout_->size());
    layout_->spread(view.data());
    stream_.make_functions(identity[slots_.stream], slots_.functions);
    view.at(slots_.stream) = stream_.address();
    view.at(slots_.fatal_handler) = &handler_;
    view.at(slots_.fatal_data) = &data_;
    view_ = std::move(view);
}

}  // namespace optctx::values

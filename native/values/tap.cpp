#include "values/tap.hpp"

#include <cstring>
#include <utility>

namespace optctx::values {
namespace {

using image::RawOstream;

// LLVM is built without exceptions but with unwind tables: the exception passes through its frames and runs nothing
// there.
[[noreturn]] void throw_fatal(void*, const char* reason, bool) { throw FatalParseError(reason); }

void write(RawOstream* stream, const char* bytes, std::size_t count) {
    static_cast<std::string*>(reinterpret_cast<void**>(stream)[-1])->append(bytes, count);
}

// The vtable pointer leads to the third word of a table.
constexpr std::size_t words_before_functions = 2;  // offset to top, type info

}  // namespace

Tap::Tap(unsigned image, std::shared_ptr<const views::Layout> layout, const Reporting& reporting)
    : image_(image),
      layout_(std::move(layout)),
      reporting_(reporting),
      handler_(&throw_fatal),
      words_(new void*[first + (reporting.stream_size + sizeof(void*) - 1) / sizeof(void*)]{}) {
    words_[first - 1] = &text_;
}

void Tap::open() {
    if (view_.empty()) make_view();
    begin_stream(views::identity_view(image_)[reporting_.stream]);
    previous_ = views::current_view(image_);
    views::set_current_view(image_, view_.data());
}

// Takes longer than most parses.
void Tap::make_view() {
    const views::View identity = views::identity_view(image_);
    std::vector<void*> view(identity, identity + layout_->size());
    layout_->spread(view.data());
    make_functions(identity[reporting_.stream]);
    view.at(reporting_.stream) = stream();
    view.at(reporting_.fatal_handler) = &handler_;
    view.at(reporting_.fatal_data) = &data_;
    view_ = std::move(view);
}

// A copy of the stream's own functions, with another write_impl, and the words before them.
void Tap::make_functions(const void* live) {
    const auto own = *static_cast<const std::uintptr_t*>(live);
    functions_.resize(reporting_.functions_size / sizeof(void*) + words_before_functions);
    std::memcpy(functions_.data(), reinterpret_cast<void* const*>(own) - words_before_functions,
                functions_.size() * sizeof(void*));
    functions_.at(words_before_functions + reporting_.write_index) = reinterpret_cast<void*>(&write);
}

// Makes the stream like LLVM's own one, and empty. It has a buffer because the other one may have been given one: LLVM
// allocates a buffer for a stream that wants one and lacks it.
void Tap::begin_stream(const void* live) {
    text_.clear();
    std::memcpy(static_cast<void*>(stream()), live, reporting_.stream_size);
    stream()->vtable = functions_.data() + words_before_functions;
    stream()->begin = stream()->cursor = buffer_.data();
    stream()->end = buffer_.data() + buffer_.size();
}

}  // namespace optctx::values

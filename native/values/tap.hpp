// The tap: keeps what LLVM reports on one thread while it parses, messages and errors that would terminate the process.
#pragma once

#include "image/layouts.hpp"
#include "views/layout.hpp"
#include "views/view.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace optctx::values {

// LLVM's parser refused a value; what() is LLVM's message.
struct ParseError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// Thrown in place of llvm::report_fatal_error terminating the process. It unwinds through LLVM's frames.
struct FatalParseError : ParseError {
    using ParseError::ParseError;
};

// What LLVM reports through: the slots of the stream behind llvm::errs(), of the fatal error handler, a
// void (*)(void *, const char *, bool), and of the handler's first argument. Views lead to these objects by slot,
// without a reader.
struct Reporting {
    std::uint32_t stream;
    std::uint32_t fatal_handler;
    std::uint32_t fatal_data;
    std::size_t stream_size;
    std::size_t functions_size;  // bytes of the stream's virtual functions, from the vtable pointer on
    std::size_t write_index;     // of raw_fd_ostream::write_impl among them
};

// The tap of one image: shows the thread a stream and a handler of its own. At most one thread listens at a time.
class Tap {
public:
    Tap(unsigned image, std::shared_ptr<const views::Layout> layout, const Reporting& reporting);
    Tap(const Tap&) = delete;
    Tap& operator=(const Tap&) = delete;

    // Until `close`, keeps what this thread writes to llvm::errs(), and a fatal error on this thread throws
    // FatalParseError. Other threads are not affected.
    void open();
    void close() noexcept { views::set_current_view(image_, previous_); }
    std::string text() const { return text_ + std::string(stream()->begin, stream()->cursor); }

private:
    static constexpr std::size_t first = 2;  // aligned to 16 bytes, as LLVM's own is; the text is before it
    void make_view();
    void make_functions(const void* live);
    void begin_stream(const void* live);
    image::RawOstream* stream() const noexcept { return reinterpret_cast<image::RawOstream*>(words_.get() + first); }

    unsigned image_;
    std::shared_ptr<const views::Layout> layout_;
    Reporting reporting_;
    void (*handler_)(void*, const char*, bool);
    void* data_ = nullptr;
    std::unique_ptr<void*[]> words_;  // the bytes of the stream, behind a pointer to the text that it writes to
    std::vector<void*> functions_;
    std::array<char, 256> buffer_;
    std::string text_;
    std::vector<void*> view_;
    views::View previous_ = nullptr;
};

}  // namespace optctx::values

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

// Thrown in place of llvm::report_fatal_error terminating the process. It unwinds through LLVM's frames.
struct FatalError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The virtual functions of the stream behind llvm::errs(): their bytes, from the vtable pointer on, and the index of
// raw_fd_ostream::write_impl.
struct StreamFunctions {
    std::size_t size;
    std::size_t write_index;
};

// The slots of the stream behind llvm::errs(), of the fatal error handler, a void (*)(void *, const char *, bool), and
// of the handler's first argument. Views lead to these objects by slot, without a reader.
struct ReportingSlots {
    std::uint32_t stream;
    std::size_t stream_size;  // bytes
    std::uint32_t fatal_handler;
    std::uint32_t fatal_data;
    StreamFunctions functions;
};

// A thread's own llvm::errs(): the bytes of the stream, behind a pointer to the text that it writes to.
class OwnStream {
public:
    explicit OwnStream(std::size_t size);
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;

    void* address() noexcept { return &words_[first]; }
    void make_functions(const void* live, const StreamFunctions& functions);
    // Makes the stream like LLVM's own one, and empty. It has a buffer because the other one may have been given one:
    // LLVM allocates a buffer for a stream that wants one and lacks it.
    void begin(const void* live);
    std::string text() const;

private:
    static constexpr std::size_t first = 2;  // aligned to 16 bytes, as LLVM's own is; the text is before it
    image::RawOstream* raw() noexcept { return static_cast<image::RawOstream*>(address()); }
    const image::RawOstream* raw() const noexcept { return reinterpret_cast<const image::RawOstream*>(&words_[first]); }

    std::vector<void*> words_;
    std::size_t size_;
    std::vector<void*> functions_;
    std::array<char, 256> buffer_;
    std::string text_;
};

// The tap of one image: shows the thread a stream and a handler of its own. At most one thread listens at a time.
class Tap {
public:
    Tap(unsigned image, std::shared_ptr<const views::Layout> layout, const ReportingSlots& slots);
    Tap(const Tap&) = delete;
    Tap& operator=(const Tap&) = delete;

private:
    friend class Listening;
    void open();
    void close() noexcept { views::set_current_view(image_, previous_); }
    std::string text() const { return stream_.text(); }
    void make_view();

    unsigned image_;
    std::shared_ptr<const views::Layout> layout_;
    ReportingSlots slots_;
    void (*handler_)(void*, const char*, bool);
    void* data_ = nullptr;
    OwnStream stream_;
    std::vector<void*> view_;
    views::View previous_ = nullptr;
};

// While it lives, it keeps what this thread writes to llvm::errs(), and a fatal error on this thread throws FatalError.
// Other threads are not affected.
class Listening {
public:
    explicit Listening(Tap& tap) : tap_(tap) { tap_.open(); }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    ~Listening() { tap_.close(); }
    std::string text() const { return tap_.text(); }

private:
    Tap& tap_;
};

}  // namespace optctx::values

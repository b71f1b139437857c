// The tap: keeps what LLVM reports on one thread while it parses, messages and errors that would terminate the process.
#pragma once

#include "views/layout.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace optctx::values {

// Thrown in place of llvm::report_fatal_error terminating the process. It unwinds through LLVM's frames.
struct FatalError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The tap of one image. At most one thread listens at a time.
class Tap {
public:
    Tap() = default;
    Tap(const Tap&) = delete;
    Tap& operator=(const Tap&) = delete;
    virtual ~Tap() = default;

private:
    friend class Listening;
    virtual void open() = 0;
    virtual void close() noexcept = 0;
    virtual std::string text() const = 0;
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

// The virtual functions of the stream behind llvm::errs(): their bytes, from the vtable pointer on, and the index of
// raw_fd_ostream::write_impl.
struct StreamFunctions {
    std::size_t size;
    std::size_t write_index;
};

// For a library whose code is redirected: the slots of the stream behind llvm::errs(), of the fatal error handler, a
// void (*)(void *, const char *, bool), and of the handler's first argument. The tap shows the thread a stream and a
// handler of its own. Views lead to these objects by slot, without a reader.
struct ReportingSlots {
    std::uint32_t stream;
    std::size_t stream_size;  // bytes
    std::uint32_t fatal_handler;
    std::uint32_t fatal_data;
    StreamFunctions functions;
};
std::unique_ptr<Tap> tap_in_view(unsigned image, std::shared_ptr<const views::Layout> layout,
                                 const ReportingSlots& slots);

// For a library whose code is not changed: the addresses of the same objects. All threads share these objects, so what
// the tap puts there checks which thread it runs on, and does for other threads what LLVM does. design/parsing.md says
// what this cannot do.
struct ReportingObjects {
    std::uintptr_t stream;
    std::uintptr_t fatal_handler;
    std::uintptr_t fatal_data;
    StreamFunctions functions;
};
std::unique_ptr<Tap> tap_in_place(unsigned image, const ReportingObjects& objects);

}  // namespace optctx::values

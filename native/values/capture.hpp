// Captures what LLVM reports on this thread while it parses: messages, and errors that would terminate the process.
#pragma once

#include "views/layout.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace optctx::values {

// Thrown in place of llvm::report_fatal_error terminating the process. It unwinds through LLVM's frames.
struct FatalError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// While a Capture lives, it keeps what this thread writes to llvm::errs(), and a fatal error throws FatalError. Other
// threads are not affected.
class Capture {
public:
    Capture() = default;
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    virtual ~Capture() = default;
    virtual std::string text() const = 0;
};

// Makes captures for one image. At most one of them may be alive at a time.
class Reporter {
public:
    virtual ~Reporter() = default;
    // `room`: minimum number of bytes that the capture keeps.
    virtual std::unique_ptr<Capture> capture(std::size_t room) = 0;
};

// For a library whose code is redirected: the slots of the stream behind llvm::errs(), of the fatal error handler, a
// void (*)(void *, const char *, bool), and of the handler's first argument.
struct ReportingSlots {
    std::uint32_t stream;
    std::size_t stream_size;  // bytes
    std::uint32_t fatal_handler;
    std::uint32_t fatal_data;
};
// Views lead to these objects by slot, without a reader.
std::unique_ptr<Reporter> view_reporter(unsigned image, std::shared_ptr<const views::Layout> layout,
                                        const ReportingSlots& slots);

// For a library whose code is not changed: the addresses of the same objects, the size of the stream's vtable in bytes
// (from the vtable pointer on), and the index of raw_fd_ostream::write_impl in it.
struct ReportingObjects {
    std::uintptr_t stream;
    std::uintptr_t fatal_handler;
    std::uintptr_t fatal_data;
    std::size_t vtable_size;
    std::size_t write_index;
};
std::unique_ptr<Reporter> in_place_reporter(unsigned image, const ReportingObjects& objects);

}  // namespace optctx::values

// Catches what LLVM reports on this thread while it parses: complaints, and errors that would end the process.
#pragma once

#include "view/layout.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace optctx::view {

// llvm::report_fatal_error was called; it comes through LLVM's frames instead of ending the process.
struct FatalError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// While it lives, what this thread writes to llvm::errs() is kept, and a fatal error is thrown as FatalError. Other
// threads notice nothing.
class Capture {
public:
    Capture() = default;
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    virtual ~Capture() = default;
    virtual std::string text() const = 0;
};

// Makes captures; at most one of them is alive at any time.
class Reporter {
public:
    virtual ~Reporter() = default;
    // `room`: bytes that are kept at least.
    virtual std::unique_ptr<Capture> capture(std::size_t room) = 0;
};

// Of a library whose code is redirected. Slots of llvm::errs()'s stream, of the fatal error handler, which is a
// void (*)(void *, const char *, bool), and of its first argument.
struct ReportingSlots {
    std::uint32_t stream;
    std::size_t stream_size;  // bytes
    std::uint32_t fatal_handler;
    std::uint32_t fatal_data;
};
// Views read what is reported through by slot, without a reader.
std::unique_ptr<Reporter> view_reporter(unsigned image, std::shared_ptr<const Layout> layout,
                                        const ReportingSlots& slots);

// Of a library that is left as it is. Addresses of the same objects, and the virtual functions of the stream: from
// its vtable pointer on, in bytes, and which of them is raw_fd_ostream::write_impl.
struct ReportingObjects {
    std::uintptr_t stream;
    std::uintptr_t fatal_handler;
    std::uintptr_t fatal_data;
    std::size_t vtable_size;
    std::size_t write_index;
};
std::unique_ptr<Reporter> in_place_reporter(const ReportingObjects& objects);

}  // namespace optctx::view

// Catches what LLVM reports on this thread, by giving it a stream and a fatal error handler of its own.
#pragma once

#include "view/region.hpp"
#include "view/slots.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace optctx::view {

// llvm::report_fatal_error was called; it comes through LLVM's frames instead of ending the process.
struct FatalError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Slots of what LLVM reports through.
struct Reporting {
    std::uint32_t stream = no_slot;         // llvm::errs()'s stream
    std::uint32_t fatal_handler = no_slot;  // void (*)(void *, const char *, bool)
    std::uint32_t fatal_data = no_slot;     // its first argument
};

// While it lives, this thread sees LLVM's globals, except that llvm::errs() writes into memory and that a
// fatal error is thrown as FatalError. `room` is the number of bytes of memory; more than that would reach
// standard error.
class Capture {
public:
    Capture(unsigned image, const std::vector<Region>& regions, const Reporting& slots, std::size_t room);
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    ~Capture();
    std::string text() const;

private:
    unsigned image_;
    View previous_;
    std::vector<void*> view_;
    std::vector<std::uint64_t> stream_;  // 8-byte aligned copy
    std::vector<char> buffer_;
};

}  // namespace optctx::view

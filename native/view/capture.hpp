// Catches what LLVM writes to llvm::errs() on this thread, by giving it a stream of its own.
#pragma once

#include "view/region.hpp"
#include "view/slots.hpp"

#include <string>
#include <vector>

namespace optctx::view {

// While it lives, this thread sees LLVM's globals, except that the stream in slot `stream` writes into
// memory. `room` is the number of bytes it holds; more than that would reach standard error.
class Capture {
public:
    Capture(unsigned image, const Region& stream_region, std::uint32_t stream, std::size_t slots, std::size_t room);
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

#include "drift/spans.hpp"

#include "view/slots.hpp"

namespace optctx::drift {

std::string read(const Spans& spans) {
    const view::LiveView reading;
    std::string bytes;
    for (const auto& [address, size] : spans.pieces) bytes.append(reinterpret_cast<const char*>(address), size);
    return bytes;
}

}  // namespace optctx::drift

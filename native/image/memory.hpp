// Reads memory whose layout is not proven yet: any pointer may be wild, any count or length too large. No read faults,
// and no size that was read is allocated before it is checked.
#pragma once

#include "image/spans.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace optctx::image {

// The library does not have the layout that was assumed; the message says what differs.
struct Misfit : std::runtime_error {
    using std::runtime_error::runtime_error;
};

constexpr std::size_t longest_text = 1 << 16;  // bytes; LLVM 22's longest help text has 758
constexpr std::size_t most_bytes = 1 << 24;    // copied by one read

// Whether the bytes are UTF-8, without code points that are no characters.
bool is_utf8(std::string_view text) noexcept;

// Throws Misfit if any byte cannot be read; its message calls the bytes `what`.
void load_bytes(std::uintptr_t address, void* to, std::size_t size, const char* what);
// Reads in place what lies in one of the spans, which cannot fault. Throws Misfit for too many bytes, too.
std::vector<std::uint8_t> load_bytes(std::uintptr_t address, std::size_t size, const char* what,
                                     std::span<const Span> safe = {});

// Reads in place what lies in a span that cannot fault, and each page elsewhere once, of which it keeps the copy. For
// thousands of small objects that lie close together.
class Snapshot {
public:
    // `safe`: must outlive this.
    explicit Snapshot(std::span<const Span> safe = {}) : safe_(safe) {}
    // As the function above.
    void load_bytes(std::uintptr_t address, void* to, std::size_t size, const char* what);
    template <class T>
    T load(std::uintptr_t address, const char* what) {
        T value;
        load_bytes(address, &value, sizeof value, what);
        return value;
    }
    // Throws Misfit if the text is longer than `most` bytes, cannot be read, is not UTF-8, or has control characters
    // other than tabs and newlines.
    std::string load_text(std::uintptr_t address, std::size_t size, const char* what, std::size_t most = longest_text);

private:
    const std::uint8_t* page_at(std::uintptr_t begin);  // nullptr if it cannot be read

    std::span<const Span> safe_;
    std::unordered_map<std::uintptr_t, std::unique_ptr<std::uint8_t[]>> pages_;
    std::uintptr_t last_begin_ = 0;
    const std::uint8_t* last_ = nullptr;
};

}  // namespace optctx::image

#include "image/memory.hpp"

#include "os/os.hpp"

namespace optctx::image {
namespace {

std::string hex(std::uintptr_t number) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    do text.insert(text.begin(), digits[number & 15]);
    while ((number >>= 4) != 0);
    return "0x" + text;
}

// Bytes of the UTF-8 sequence that begins with `first`, or 0 (Unicode 15, table 3-7, without the exceptions for the
// second byte).
std::size_t sequence_size(std::uint8_t first) {
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first < 0xE0) return 2;
    if (first >= 0xE0 && first < 0xF0) return 3;
    return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

// The exceptions: overlong forms, surrogates, and numbers past the last character.
bool may_follow(std::uint8_t first, std::uint8_t second) {
    switch (first) {
        case 0xE0:
            return second >= 0xA0;
        case 0xED:
            return second < 0xA0;
        case 0xF0:
            return second >= 0x90;
        case 0xF4:
            return second < 0x90;
        default:
            return true;
    }
}

bool is_control(std::uint8_t byte) { return (byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7F; }

bool is_text(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
        const std::size_t size = sequence_size(byte(0));
        if (size == 0 || size > text.size() - at) return false;
        if (size == 1 && is_control(byte(0))) return false;
        for (std::size_t i = 1; i < size; ++i)
            if ((byte(i) & 0xC0) != 0x80) return false;
        if (size > 1 && !may_follow(byte(0), byte(1))) return false;
        at += size;
    }
    return true;
}

}  // namespace

void load_bytes(std::uintptr_t address, void* to, std::size_t size, const char* what) {
    if (!os::read_checked(address, to, size))
        throw Misfit(std::string("expected ") + what + " at " + hex(address) + ", found memory that cannot be read");
}

std::vector<std::uint8_t> load_bytes(std::uintptr_t address, std::size_t size, const char* what) {
    if (size > most_bytes)
        throw Misfit(std::string("expected ") + what + " at " + hex(address) + ", found a size of " +
                     std::to_string(size) + " bytes");
    std::vector<std::uint8_t> bytes(size);
    load_bytes(address, bytes.data(), size, what);
    return bytes;
}

std::string load_text(std::uintptr_t address, std::size_t size, const char* what, std::size_t most) {
    if (size > most)
        throw Misfit(std::string("expected ") + what + " at " + hex(address) + ", found a length of " +
                     std::to_string(size) + " bytes");
    std::string text(size, '\0');
    load_bytes(address, text.data(), size, what);
    if (!is_text(text))
        throw Misfit(std::string("expected ") + what + " at " + hex(address) + ", found bytes that are no text");
    return text;
}

}  // namespace optctx::image

#include "image/memory.hpp"

#include "os/os.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace optctx::image {
namespace {

// The length in bytes of the UTF-8 sequence that begins with `first`, or 0 if none does (Unicode 15, table 3-7; the
// restrictions on the second byte are in `may_follow`).
std::size_t sequence_size(std::uint8_t first) {
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first < 0xE0) return 2;
    if (first >= 0xE0 && first < 0xF0) return 3;
    return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

// Excludes overlong forms, surrogates, and code points above U+10FFFF.
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

bool is_text(std::span<const std::uint8_t> text) {
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] >= ' ' && text[at] < 0x7F) {
            ++at;
            continue;
        }
        const auto byte = [&](std::size_t i) { return text[at + i]; };
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

Misfit unreadable(std::uintptr_t address, const char* what) {
    return Misfit(std::string("expected ") + what + " at " + os::hex(address) + ", found memory that cannot be read");
}

// Throws Misfit for a size that is more than `most`.
void check_size(std::uintptr_t address, std::size_t size, std::size_t most, const char* what, const char* noun) {
    if (size > most)
        throw Misfit(std::string("expected ") + what + " at " + os::hex(address) + ", found a " + noun + " of " +
                     std::to_string(size) + " bytes");
}

void check_text(std::span<const std::uint8_t> text, std::uintptr_t address, const char* what) {
    if (!is_text(text))
        throw Misfit(std::string("expected ") + what + " at " + os::hex(address) + ", found bytes that are not text");
}

std::string checked_text(std::string text, std::uintptr_t address, const char* what) {
    check_text({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, address, what);
    return text;
}

}  // namespace

void load_bytes(std::uintptr_t address, void* to, std::size_t size, const char* what) {
    if (!os::read_checked(address, to, size)) throw unreadable(address, what);
}

std::vector<std::uint8_t> load_bytes(std::uintptr_t address, std::size_t size, const char* what) {
    check_size(address, size, most_bytes, what, "size");
    std::vector<std::uint8_t> bytes(size);
    load_bytes(address, bytes.data(), size, what);
    return bytes;
}

std::string load_text(std::uintptr_t address, std::size_t size, const char* what, std::size_t most) {
    check_size(address, size, most, what, "length");
    std::string text(size, '\0');
    load_bytes(address, text.data(), size, what);
    return checked_text(std::move(text), address, what);
}

const std::uint8_t* Snapshot::page_at(std::uintptr_t begin) {
    if (last_ != nullptr && begin == last_begin_) return last_;
    auto found = pages_.find(begin);
    if (found == pages_.end()) {
        auto page = std::make_unique_for_overwrite<std::uint8_t[]>(os::page_size());
        if (!os::read_checked(begin, page.get(), os::page_size())) return nullptr;
        found = pages_.emplace(begin, std::move(page)).first;
    }
    last_ = found->second.get();
    last_begin_ = begin;
    return last_;
}

void Snapshot::load_bytes(std::uintptr_t address, void* to, std::size_t size, const char* what) {
    auto* out = static_cast<std::uint8_t*>(to);
    for (std::size_t done = 0; done < size;) {
        const std::uintptr_t at = address + done;
        const std::size_t in_page = at % os::page_size();
        const std::size_t count = std::min(size - done, os::page_size() - in_page);
        const std::uint8_t* const page = page_at(at - in_page);
        if (page == nullptr) throw unreadable(address, what);
        std::memcpy(out + done, page + in_page, count);
        done += count;
    }
}

std::string Snapshot::load_text(std::uintptr_t address, std::size_t size, const char* what, std::size_t most) {
    check_size(address, size, most, what, "length");
    std::string text(size, '\0');
    load_bytes(address, text.data(), size, what);
    return checked_text(std::move(text), address, what);
}

void Snapshot::prove_text(std::uintptr_t address, std::size_t size, const char* what, std::size_t most) {
    check_size(address, size, most, what, "length");
    if (size == 0) return;
    const std::size_t in_page = address % os::page_size();
    if (size > os::page_size() - in_page) {  // a character may lie on two pages
        load_text(address, size, what, most);
        return;
    }
    const std::uint8_t* const page = page_at(address - in_page);
    if (page == nullptr) throw unreadable(address, what);
    check_text({page + in_page, size}, address, what);
}

}  // namespace optctx::image

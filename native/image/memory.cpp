#include "image/memory.hpp"

#include "os/os.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace optctx::image {
namespace {

bool is_control(char c) {
    const auto byte = static_cast<std::uint8_t>(c);
    return (byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7F;
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

// Copies the bytes if they lie in one of the spans.
bool copied(std::span<const Span> safe, std::uintptr_t address, void* to, std::size_t size) {
    const bool is_safe = std::ranges::any_of(safe, [=](const Span& span) {
        return address - span.begin <= span.size && size <= span.size - (address - span.begin);
    });
    if (is_safe) std::memcpy(to, reinterpret_cast<const void*>(address), size);
    return is_safe;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size();) {
        const auto first = static_cast<unsigned char>(text[i]);
        const std::size_t more = first < 0x80       ? 0
                                 : first >> 5 == 6  ? 1
                                 : first >> 4 == 14 ? 2
                                 : first >> 3 == 30 ? 3
                                                    : 4;
        if (more == 4 || text.size() - i <= more) return false;
        std::uint32_t point = more == 0 ? first : first & (0x3FU >> more);
        for (std::size_t k = 1; k <= more; ++k) {
            const auto next = static_cast<unsigned char>(text[i + k]);
            if (next >> 6 != 2) return false;
            point = point << 6 | (next & 0x3FU);
        }
        constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (point < least[more] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return false;
        i += more + 1;
    }
    return true;
}

void load_bytes(std::uintptr_t address, void* to, std::size_t size, const char* what) {
    if (!os::read_checked(address, to, size)) throw unreadable(address, what);
}

std::vector<std::uint8_t> load_bytes(std::uintptr_t address, std::size_t size, const char* what,
                                     std::span<const Span> safe) {
    check_size(address, size, most_bytes, what, "size");
    std::vector<std::uint8_t> bytes(size);
    if (!copied(safe, address, bytes.data(), size)) load_bytes(address, bytes.data(), size, what);
    return bytes;
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
    if (copied(safe_, address, to, size)) return;
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
    if (!is_utf8(text) || std::any_of(text.begin(), text.end(), is_control))
        throw Misfit(std::string("expected ") + what + " at " + os::hex(address) + ", found bytes that are not text");
    return text;
}

}  // namespace optctx::image

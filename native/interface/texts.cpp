#include "interface/texts.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>

namespace optctx::interface {
namespace {

constexpr std::size_t longest = 100;  // bytes of a text in a message

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

std::string quoted(std::string_view text) {
    std::size_t end = std::min(text.size(), longest);
    while (end > 0 && end < text.size() && static_cast<unsigned char>(text[end]) >> 6 == 2)
        --end;  // inside a character
    const std::string_view kept = text.substr(0, end);
    const bool plain = !is_utf8(kept);
    std::string words = "'";
    words += kept;
    std::replace_if(
        words.begin(), words.end(),
        [plain](char c) {
            const auto byte = static_cast<unsigned char>(c);
            return std::iscntrl(byte) != 0 || (plain && byte >= 0x80);
        },
        '?');
    words += end < text.size() ? "'..." : "'";
    return words;
}

}  // namespace optctx::interface

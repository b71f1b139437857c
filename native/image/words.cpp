#include "image/words.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace optctx::image {
namespace {

constexpr std::uint32_t relative = 1u << 31;
constexpr std::uint32_t most_words = 4096;  // of an object; LLVM 22's largest option has 85

std::uint32_t index_of(const WordCheck& check) { return check.index & ~relative; }

}  // namespace

bool words_match(const Library& image, std::span<const std::uintptr_t> objects, std::span<const WordCheck> checks) {
    std::vector<std::uintptr_t> words;
    for (std::size_t at = 0; at < checks.size();) {
        const std::uint32_t object = checks[at].object;
        std::size_t end = at;
        std::uint32_t last = 0;
        for (; end < checks.size() && checks[end].object == object; ++end) last = std::max(last, index_of(checks[end]));
        if (object >= objects.size() || last >= most_words) return false;
        words.resize(last + 1);
        if (!os::read_checked(objects[object], words.data(), words.size() * sizeof words[0])) return false;
        for (; at < end; ++at) {
            const std::uintptr_t base = (checks[at].index & relative) != 0 ? image.base() : 0;
            if (words[index_of(checks[at])] != base + static_cast<std::uintptr_t>(checks[at].value)) return false;
        }
    }
    return true;
}

}  // namespace optctx::image

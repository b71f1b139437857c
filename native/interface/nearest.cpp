#include "interface/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace optctx::interface {
namespace {

// Returns the Levenshtein distance, or `limit` if the distance is at least that.
std::size_t edits(std::string_view a, std::string_view b, std::size_t limit) {
    if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= limit) return limit;
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        std::size_t least = row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
            least = std::min(least, row[j + 1]);
        }
        if (least >= limit) return limit;
    }
    return std::min(row.back(), limit);
}

}  // namespace

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known) {
    std::string_view best;
    std::size_t least = name.size() / 3 + 1;
    for (const std::string_view candidate : known) {
        const std::size_t count = edits(name, candidate, least + 1);
        // Among equally near names, take the first in alphabetical order, so that the result is deterministic.
        if (count > least || (count == least && (best.empty() || candidate >= best))) continue;
        best = candidate;
        least = count;
    }
    return best;
}

}  // namespace optctx::interface

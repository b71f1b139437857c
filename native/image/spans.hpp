// Spans of storage, and a test for addresses inside them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace optctx::image {

struct Span {
    std::uintptr_t begin;
    std::size_t size;
};

// The spans must be sorted and disjoint, and must outlive the index.
class SpanIndex {
public:
    explicit SpanIndex(const std::vector<Span>& spans) : spans_(spans) {
        if (spans.empty()) return;
        low_ = spans.front().begin;
        width_ = spans.back().begin + spans.back().size - low_;
        if (width_ > most_width) return;
        touched_.resize(width_ / granule + 2);
        for (const Span& span : spans)
            for (std::uintptr_t at = (span.begin - low_) / granule; at <= (span.begin + span.size - low_) / granule;
                 ++at)
                touched_[at] = true;
    }
    // A cheap filter: false only if no span is within the size of an immediate of `address`.
    bool near(std::uintptr_t address) const {
        const std::uintptr_t from = address - low_;
        if (from + 8 >= width_ + 8) return false;
        if (touched_.empty() || from >= width_) return true;
        return touched_[from / granule] || touched_[from / granule + 1];
    }
    bool contains(std::uintptr_t address) const { return holds_any(address, address); }
    // Whether a span holds an address from `first` to `last`.
    bool holds_any(std::uintptr_t first, std::uintptr_t last) const {
        auto next = std::upper_bound(spans_.begin(), spans_.end(), last,
                                     [](std::uintptr_t a, const Span& s) { return a < s.begin; });
        return next != spans_.begin() && std::prev(next)->begin + std::prev(next)->size > first;
    }

private:
    static constexpr std::uintptr_t granule = 64;  // bytes
    static constexpr std::uintptr_t most_width = std::uintptr_t{1} << 30;

    const std::vector<Span>& spans_;
    std::uintptr_t low_ = 0;
    std::uintptr_t width_ = 0;
    std::vector<bool> touched_;  // by granule from `low_`: a span overlaps it
};

}  // namespace optctx::image

// Spans of storage, and which of them holds an address.
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

// Of spans that are sorted and disjoint, and outlive the index.
class SpanIndex {
public:
    explicit SpanIndex(const std::vector<Span>& spans) : spans_(spans) {
        low_ = spans.empty() ? 0 : spans.front().begin;
        width_ = spans.empty() ? 0 : spans.back().begin + spans.back().size - low_;
    }
    // Cheap and wrong only on the safe side: within reach of the spans, an immediate's size included.
    bool near(std::uintptr_t address) const { return address + 8 - low_ < width_ + 8; }
    bool contains(std::uintptr_t address) const { return holds_any(address, address); }
    // Whether a span holds an address from `first` to `last`.
    bool holds_any(std::uintptr_t first, std::uintptr_t last) const {
        auto next = std::upper_bound(spans_.begin(), spans_.end(), last,
                                     [](std::uintptr_t a, const Span& s) { return a < s.begin; });
        return next != spans_.begin() && std::prev(next)->begin + std::prev(next)->size > first;
    }

private:
    const std::vector<Span>& spans_;
    std::uintptr_t low_;
    std::uintptr_t width_;
};

}  // namespace optctx::image

#include "image/references.hpp"

#include <algorithm>
#include <cstring>

namespace optctx::image {
namespace {

class SpanIndex {
public:
    explicit SpanIndex(const std::vector<Span>& spans) : spans_(spans) {
        low_ = spans.empty() ? 0 : spans.front().begin;
        width_ = spans.empty() ? 0 : spans.back().begin + spans.back().size - low_;
    }
    // Cheap and wrong only on the safe side: within reach of the spans, an immediate's size included.
    bool near(std::uintptr_t address) const { return address + 8 - low_ < width_ + 8; }
    bool contains(std::uintptr_t address) const {
        auto next = std::upper_bound(spans_.begin(), spans_.end(), address,
                                     [](std::uintptr_t a, const Span& s) { return a < s.begin; });
        return next != spans_.begin() && address - std::prev(next)->begin < std::prev(next)->size;
    }

private:
    const std::vector<Span>& spans_;
    std::uintptr_t low_;
    std::uintptr_t width_;
};

// The displacement, after the ModRM byte, counts from the end of the instruction, which an immediate may follow.
bool may_reference(const SpanIndex& index, const std::uint8_t* modrm, std::uintptr_t modrm_at) {
    std::int32_t displacement;
    std::memcpy(&displacement, modrm + 1, sizeof displacement);
    const std::uintptr_t target = modrm_at + 5 + static_cast<std::uintptr_t>(std::intptr_t{displacement});
    if (!index.near(target)) return false;
    for (const unsigned immediate : {0u, 1u, 2u, 4u})
        if (index.contains(target + immediate)) return true;
    return false;
}

bool runs_at_load_only(std::string_view name) {
    return name.starts_with("_GLOBAL__sub_I_") || name.starts_with("_GLOBAL__I_") ||
           name.find("__static_initialization_and_destruction_") != std::string_view::npos ||
           name.starts_with("__cxx_global_var_init");
}

}  // namespace

std::vector<FunctionReferences> find_references(const Image& image, const std::vector<Span>& spans) {
    const SpanIndex index(spans);
    std::vector<FunctionReferences> found;
    std::optional<Symbol> current;
    bool skip = false;
    const std::uint8_t* text = image.text();
    const std::uint8_t* end = text + (image.text_end() - image.text_begin()) - 5;
    for (const std::uint8_t* at = text; at < end; ++at) {
        if ((*at & 0xC7) != 0x05) continue;  // ModRM: mod 00, rm 101, any register
        const std::uintptr_t address = image.text_begin() + static_cast<std::uintptr_t>(at - text);
        if (!may_reference(index, at, address)) continue;
        if (!current || address - current->address >= current->size) {
            current = image.function_at(address);
            skip = current && runs_at_load_only(current->name);
            if (!skip) found.push_back({current.value_or(Symbol{address, 0, {}}), {}});
        }
        if (!skip) found.back().modrm_at.push_back(address);
    }
    return found;
}

std::vector<std::pair<std::uintptr_t, std::uintptr_t>> find_data_pointers(const Image& image,
                                                                          const std::vector<Span>& spans) {
    const SpanIndex index(spans);
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
    image.visit_relative_relocations([&](std::uintptr_t at, std::uintptr_t target) {
        if (index.contains(target)) found.emplace_back(at, target);
    });
    return found;
}

}  // namespace optctx::image

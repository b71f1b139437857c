#include "image/spans.hpp"

namespace optctx::image {

std::vector<std::pair<std::uintptr_t, std::uintptr_t>> find_data_pointers(const Library& image,
                                                                          const std::vector<Span>& spans) {
    const SpanIndex index(spans);
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
    image.visit_relative_relocations([&](std::uintptr_t at, std::uintptr_t target) {
        if (index.contains(target)) found.emplace_back(at, target);
    });
    return found;
}

}  // namespace optctx::image

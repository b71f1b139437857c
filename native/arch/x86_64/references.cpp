#include "arch/references.hpp"

#include "arch/x86_64/bytes.hpp"
#include "image/spans.hpp"

#include <cstring>
#include <optional>
#include <string_view>

namespace optctx::arch {
namespace {

// The displacement, after the ModRM byte, counts from the end of the instruction, which an immediate may follow.
bool may_reference(const image::SpanIndex& index, const std::uint8_t* modrm, std::uintptr_t modrm_at) {
    std::int32_t displacement;
    std::memcpy(&displacement, modrm + 1, sizeof displacement);
    const std::uintptr_t target = modrm_at + 5 + static_cast<std::uintptr_t>(std::intptr_t{displacement});
    if (!index.near(target) || !index.holds_any(target, target + 4)) return false;
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

std::vector<FunctionReferences> find_references(const image::Image& image, const std::vector<image::Span>& spans) {
    const image::SpanIndex index(spans);
    std::vector<FunctionReferences> found;
    std::optional<image::Symbol> current;
    bool skip = false;
    const std::uint8_t* text = image.text();
    const std::uint8_t* end = text + (image.text_end() - image.text_begin()) - 5;
    for_bytes(text, end, 0xC7, 0x05, [&](const std::uint8_t* at) {  // ModRM: mod 00, rm 101, any register
        const std::uintptr_t address = image.text_begin() + static_cast<std::uintptr_t>(at - text);
        if (!may_reference(index, at, address)) return;
        if (!current || address - current->address >= current->size) {
            current = image.function_at(address);
            skip = current && runs_at_load_only(current->name);
            if (!skip) found.push_back({current.value_or(image::Symbol{address, 0, {}}), {}});
        }
        if (!skip) found.back().places.push_back(address);
    });
    return found;
}

}  // namespace optctx::arch

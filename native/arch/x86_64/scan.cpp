#include "arch/scan.hpp"

#include "arch/x86_64/bytes.hpp"
#include "image/spans.hpp"

#include <algorithm>
#include <bitset>
#include <optional>
#include <string_view>
#include <utility>

namespace optctx::arch {
namespace {

bool may_refer(const image::SpanIndex& index, std::uintptr_t target) {
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

constexpr std::uint8_t operand_mask = 0xC7, operand = 0x05;  // ModRM: mod 00, rm 101, any register
constexpr std::size_t operand_size = 5;                      // with its displacement

// References into one list of spans, by function. Takes places in ascending order.
class Found {
public:
    Found(const image::Library& image, const std::vector<image::Span>& spans) : image_(image), index_(spans) {}

    void take(std::uintptr_t place, std::uintptr_t target) {
        if (!may_refer(index_, target)) return;
        if (!current_ || place - current_->address >= current_->size) enter(place, image_.function_at(place));
        if (!skip_) found_.back().places.push_back(place);
    }
    void enter(std::uintptr_t place, std::optional<image::Symbol> function) {
        current_ = function;
        skip_ = current_ && runs_at_load_only(current_->name);
        if (!skip_) found_.push_back({current_.value_or(image::Symbol{place, 0, {}}), {}});
    }
    std::vector<FunctionReferences> take_all() { return std::move(found_); }

private:
    const image::Library& image_;
    image::SpanIndex index_;
    std::vector<FunctionReferences> found_;
    std::optional<image::Symbol> current_;
    bool skip_ = false;
};

// Calls `take(place, target)` for each candidate in the code from `begin` to `end`, which are addresses.
template <class Take>
void for_operands(const image::Library& image, std::uintptr_t begin, std::uintptr_t end, Take take) {
    const std::uint8_t* text = image.text() + (begin - image.text_begin());
    for_bytes(text, text + (end - begin), operand_mask, operand, [&](const std::uint8_t* at) {
        const std::uintptr_t place = begin + static_cast<std::uintptr_t>(at - text);
        // The displacement, after the ModRM byte, counts from the end of the instruction: an immediate may come first.
        take(place, target_of(place + operand_size, at + 1));
    });
}

}  // namespace

std::vector<std::vector<FunctionReferences>> find_references_to_each(
    const image::Library& image, const std::vector<std::vector<image::Span>>& spans) {
    std::vector<Found> each;
    each.reserve(spans.size());
    for (const auto& list : spans) each.emplace_back(image, list);
    for_operands(image, image.text_begin(), image.text_end() - operand_size,
                 [&](std::uintptr_t place, std::uintptr_t target) {
                     for (Found& found : each) found.take(place, target);
                 });
    std::vector<std::vector<FunctionReferences>> all;
    for (Found& found : each) all.push_back(found.take_all());
    return all;
}

std::vector<FunctionReferences> find_references_in(const image::Library& image, const std::vector<image::Span>& spans,
                                                   const std::vector<std::uint32_t>& functions) {
    Found found(image, spans);
    for (const std::uint32_t number : functions) {
        const auto function = image.numbered(number);
        const std::uintptr_t last = image.text_end() - operand_size;
        if (!function || function->address < image.text_begin() || function->address >= last) continue;
        found.enter(function->address, function);
        const std::uintptr_t size = std::min<std::uintptr_t>(function->size, last - function->address);
        for_operands(image, function->address, function->address + size,
                     [&](std::uintptr_t place, std::uintptr_t target) { found.take(place, target); });
    }
    auto all = found.take_all();
    std::erase_if(all, [](const FunctionReferences& each) { return each.places.empty(); });
    return all;
}

std::vector<std::pair<std::uintptr_t, std::uintptr_t>> find_branches(const image::Library& image,
                                                                     std::vector<std::uintptr_t> targets) {
    // Most candidates miss every target: a bit for each value of some address bits says so at once.
    const auto bit = [](std::uintptr_t address) { return address >> 4 & 0xFFFF; };  // functions are 16-byte aligned
    std::bitset<0x10000> bits;
    for (const std::uintptr_t target : targets) bits.set(bit(target));
    std::ranges::sort(targets);
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
    const std::uint8_t* text = image.text();
    const std::uint8_t* end = text + (image.text_end() - image.text_begin()) - 5;
    for_bytes(text, end, 0xFE, 0xE8, [&](const std::uint8_t* at) {  // E8: call rel32, E9: jmp rel32
        const std::uintptr_t address = image.text_begin() + static_cast<std::uintptr_t>(at - text);
        const std::uintptr_t target = target_of(address + 5, at + 1);
        if (bits[bit(target)] && std::ranges::binary_search(targets, target)) found.emplace_back(address, target);
    });
    return found;
}

}  // namespace optctx::arch

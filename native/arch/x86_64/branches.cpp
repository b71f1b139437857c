#include "arch/branches.hpp"

#include "arch/x86_64/bytes.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>

namespace optctx::arch {
namespace {

// Most candidates miss every target: a bit for each value of some address bits says so at once.
class TargetFilter {
public:
    explicit TargetFilter(std::vector<std::uintptr_t> targets) : targets_(std::move(targets)) {
        std::sort(targets_.begin(), targets_.end());
        for (const std::uintptr_t target : targets_) bits_.set(bit(target));
    }
    bool contains(std::uintptr_t address) const {
        return bits_[bit(address)] && std::binary_search(targets_.begin(), targets_.end(), address);
    }

private:
    static std::size_t bit(std::uintptr_t address) { return address >> 4 & 0xFFFF; }  // functions are 16-byte aligned

    std::vector<std::uintptr_t> targets_;
    std::bitset<0x10000> bits_;
};

}  // namespace

std::vector<std::pair<std::uintptr_t, std::uintptr_t>> find_branches(const image::Image& image,
                                                                     const std::vector<std::uintptr_t>& targets) {
    const TargetFilter filter(targets);
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
    const std::uint8_t* text = image.text();
    const std::uint8_t* end = text + (image.text_end() - image.text_begin()) - 5;
    for_bytes(text, end, 0xFE, 0xE8, [&](const std::uint8_t* at) {  // E8: call rel32, E9: jmp rel32
        std::int32_t displacement;
        std::memcpy(&displacement, at + 1, sizeof displacement);
        const std::uintptr_t address = image.text_begin() + static_cast<std::uintptr_t>(at - text);
        const std::uintptr_t target = address + 5 + static_cast<std::uintptr_t>(std::intptr_t{displacement});
        if (filter.contains(target)) found.emplace_back(address, target);
    });
    return found;
}

}  // namespace optctx::arch

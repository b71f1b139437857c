#include "lab/access_log.hpp"

#include <algorithm>
#include <tuple>

namespace optctx::audit {
namespace {

constexpr unsigned slot_bits = 12;

// User-space addresses have 47 bits, so instruction, slot and direction fit in one word, and no key is 0.
std::uint64_t key_of(std::uintptr_t instruction, std::uint32_t slot, bool write) {
    return (static_cast<std::uint64_t>(instruction) << slot_bits | slot) << 1 | (write ? 1u : 0u);
}

std::size_t place_of(std::uint64_t key) { return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 40); }

}  // namespace

void Log::add(std::uintptr_t instruction, std::uintptr_t address, std::uint32_t slot, bool write) noexcept {
    const std::uint64_t key = key_of(instruction, slot, write);
    const std::size_t first = place_of(key);
    for (std::size_t i = 0; i < capacity; ++i) {
        Entry& entry = entries_[(first + i) % capacity];
        std::uint64_t found = 0;
        if (entry.key.compare_exchange_strong(found, key)) entry.address.store(address);
        if (found != 0 && found != key) continue;
        entry.count.fetch_add(1);
        return;
    }
    lost_.fetch_add(1);
}

std::vector<Seen> Log::entries() const {
    std::vector<Seen> seen;
    for (const Entry& entry : entries_) {
        const std::uint64_t key = entry.key.load();
        if (key == 0) continue;
        const auto slot = static_cast<std::uint32_t>(key >> 1 & (views::max_slots - 1));
        seen.push_back({key >> (slot_bits + 1), entry.address.load(), slot, (key & 1) != 0, entry.count.load()});
    }
    std::sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) {
        return std::tie(a.instruction, a.slot, a.write) < std::tie(b.instruction, b.slot, b.write);
    });
    return seen;
}

void Log::clear() noexcept {
    for (Entry& entry : entries_) {
        entry.key = 0;
        entry.address = 0;
        entry.count = 0;
    }
    lost_ = 0;
}

}  // namespace optctx::audit

// How an LLVM's map of registered options lies in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace optctx::image {

struct RegistryLayout {
    enum class Kind : std::uint8_t { string_map, tombstones, sentinels, bitmap };

    const char* name;
    Kind kind;
    std::uint8_t epoch;  // bytes of DebugEpochBase before the map's own: only with ABI-breaking checks

    // The bytes of the map, its epoch included, that change when its entries do.
    constexpr std::size_t head_size() const { return epoch + (kind == Kind::sentinels ? 16 : 24); }
};

// walk_registry tries them in this order.
inline constexpr RegistryLayout registry_layouts[] = {
    {"StringMap", RegistryLayout::Kind::string_map, 0},  // up to LLVM 21; never has an epoch
    {"DenseMap with epoch", RegistryLayout::Kind::tombstones, 8},
    {"DenseMap", RegistryLayout::Kind::tombstones, 0},  // LLVM 22, and 23 at first
    {"DenseMap without tombstones, with epoch", RegistryLayout::Kind::sentinels, 8},
    {"DenseMap without tombstones", RegistryLayout::Kind::sentinels, 0},  // LLVM 23 (Triton 3.8)
    {"DenseMap with bitmap and epoch", RegistryLayout::Kind::bitmap, 8},
    {"DenseMap with bitmap", RegistryLayout::Kind::bitmap, 0},  // LLVM 23 (jaxlib 0.10) and 24
};
// Throws std::runtime_error for a name that no layout has.
inline const RegistryLayout& registry_layout(const std::string& name) {
    for (const RegistryLayout& layout : registry_layouts)
        if (layout.name == name) return layout;
    throw std::runtime_error("no map of options is called '" + name + "'");
}

// StringMap<Option *>: a pointer to an entry for each bucket, then a word that ends iteration, then hashes.
struct StringMapHead {
    std::uintptr_t table;
    std::uint32_t buckets, items, tombstones, item_size;
};
struct StringMapEntry {
    std::size_t length;
    std::uintptr_t option;  // the key and a zero byte follow
};
constexpr bool is_entry(std::uintptr_t entry) { return entry != 0 && entry != static_cast<std::uintptr_t>(-1) << 3; }

// DenseMap<StringRef, Option *>.
struct DenseMapBucket {
    std::uintptr_t key;
    std::size_t length;
    std::uintptr_t option;
};
struct TombstonesHead {  // free keys are at -1, deleted ones at -2
    std::uintptr_t table;
    std::uint32_t entries, tombstones, buckets;
};
struct SentinelsHead {  // free keys are at -1
    std::uintptr_t table;
    std::uint32_t entries, buckets;
};
struct BitmapHead {         // what a free bucket holds means nothing
    std::uintptr_t table;   // the bitmap ends the allocation that the buckets begin
    std::uintptr_t bitmap;  // 32 buckets a word, the first in the lowest bit
    std::uint32_t entries, buckets;
};
static_assert(sizeof(StringMapHead) == 24 && sizeof(StringMapEntry) == 16 && sizeof(DenseMapBucket) == 24);
static_assert(sizeof(TombstonesHead) == 24 && sizeof(SentinelsHead) == 16 && sizeof(BitmapHead) == 24);

constexpr std::size_t bitmap_words(std::uint32_t buckets) { return (std::size_t{buckets} + 31) / 32; }

// A DenseMap's head, whatever its kind.
struct DenseMapHead {
    std::uintptr_t table = 0;
    std::uintptr_t bitmap = 0;  // of kind bitmap
    std::uint32_t entries = 0, tombstones = 0, buckets = 0;
};
// `Load` is called with a type and returns one that lies at the map, after its epoch.
template <class Load>
DenseMapHead dense_map_head(RegistryLayout::Kind kind, Load&& load) {
    if (kind == RegistryLayout::Kind::tombstones) {
        const auto head = load(TombstonesHead{});
        return {head.table, 0, head.entries, head.tombstones, head.buckets};
    }
    if (kind == RegistryLayout::Kind::sentinels) {
        const auto head = load(SentinelsHead{});
        return {head.table, 0, head.entries, 0, head.buckets};
    }
    const auto head = load(BitmapHead{});
    return {head.table, head.bitmap, head.entries, 0, head.buckets};
}

// Whether bucket `i` of a DenseMap is in use, by its key or by the words of its bitmap.
inline bool is_used(RegistryLayout::Kind kind, std::uintptr_t key, const std::uint32_t* bitmap, std::uint32_t i) {
    if (kind == RegistryLayout::Kind::bitmap) return (bitmap[i / 32] >> (i % 32) & 1) != 0;
    return key < static_cast<std::uintptr_t>(kind == RegistryLayout::Kind::tombstones ? -2 : -1);
}

}  // namespace optctx::image

#include "image/registry_copy.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace optctx::image {
namespace {

constexpr std::size_t epoch = 8;  // bytes of DebugEpochBase, only with ABI-breaking checks

// The heads as image/registry_walk.cpp describes them.
struct StringMap {
    std::uintptr_t table;
    std::uint32_t buckets, items, tombstones, item_size;
};
struct StringMapEntry {
    std::size_t length;
    std::uintptr_t option;  // the key and a zero byte follow
};
struct DenseMap {
    std::uintptr_t table;
    std::uint32_t entries, tombstones, buckets;
};
struct DenseMapBucket {
    std::uintptr_t key;
    std::size_t length;
    std::uintptr_t option;
};

// Allocated as LLVM allocates, because its code frees this memory where a caller makes the map grow.
std::uint8_t* copy_bytes(std::uintptr_t from, std::size_t size) {
    auto* to = static_cast<std::uint8_t*>(::operator new(size));
    std::memcpy(to, reinterpret_cast<const void*>(from), size);
    return to;
}

// The words of the map's head that hold its table and its counts.
std::size_t words_of(RegistryLayout layout) { return layout == RegistryLayout::dense_map_with_epoch ? 4 : 3; }

}  // namespace

RegistryLayout registry_layout(const std::string& name) {
    if (name == "StringMap") return RegistryLayout::string_map;
    if (name == "DenseMap with epoch") return RegistryLayout::dense_map_with_epoch;
    if (name == "DenseMap") return RegistryLayout::dense_map;
    throw std::runtime_error("no map of options is called '" + name + "'");
}

RegistryCopy::RegistryCopy(RegistryLayout layout, std::uintptr_t map,
                           const std::function<std::uintptr_t(std::uintptr_t)>& instead_of)
    : layout_(layout), original_(words_of(layout)), head_(new std::uint64_t[head_words]()) {
    std::memcpy(original_.data(), reinterpret_cast<const void*>(map), original_.size() * sizeof(std::uint64_t));
    std::copy(original_.begin(), original_.end(), head_.get());
    if (layout == RegistryLayout::string_map)
        copy_string_map(instead_of);
    else
        copy_dense_map(layout == RegistryLayout::dense_map_with_epoch ? epoch : 0, instead_of);
}

bool RegistryCopy::is_current(std::uintptr_t map) const noexcept {
    return std::memcmp(original_.data(), reinterpret_cast<const void*>(map),
                       original_.size() * sizeof(std::uint64_t)) == 0;
}

void RegistryCopy::copy_string_map(const std::function<std::uintptr_t(std::uintptr_t)>& instead_of) {
    StringMap head;
    std::memcpy(&head, head_.get(), sizeof head);
    // A pointer for each bucket, the sentinel that ends iteration, and a hash for each bucket.
    const std::size_t size = (head.buckets + 1) * sizeof(std::uintptr_t) + head.buckets * sizeof(std::uint32_t);
    std::uint8_t* table = copy_bytes(head.table, size);
    for (std::uint32_t i = 0; i < head.buckets; ++i) {
        std::uint8_t* place = table + i * sizeof(std::uintptr_t);
        std::uintptr_t at;
        std::memcpy(&at, place, sizeof at);
        if (at == 0 || at == static_cast<std::uintptr_t>(-1) << 3) continue;
        StringMapEntry entry;
        std::memcpy(&entry, reinterpret_cast<const void*>(at), sizeof entry);
        std::uint8_t* copy = copy_bytes(at, sizeof entry + entry.length + 1);
        entry.option = instead_of(entry.option);
        std::memcpy(copy, &entry, sizeof entry);
        std::memcpy(place, &copy, sizeof copy);
    }
    head.table = reinterpret_cast<std::uintptr_t>(table);
    std::memcpy(head_.get(), &head, sizeof head);
}

void RegistryCopy::copy_dense_map(std::size_t at, const std::function<std::uintptr_t(std::uintptr_t)>& instead_of) {
    auto* place = reinterpret_cast<std::uint8_t*>(head_.get()) + at;
    DenseMap head;
    std::memcpy(&head, place, sizeof head);
    std::uint8_t* table = copy_bytes(head.table, head.buckets * sizeof(DenseMapBucket));
    for (std::uint32_t i = 0; i < head.buckets; ++i) {
        std::uint8_t* in_table = table + i * sizeof(DenseMapBucket);
        DenseMapBucket bucket;
        std::memcpy(&bucket, in_table, sizeof bucket);
        if (bucket.key >= static_cast<std::uintptr_t>(-2)) continue;  // empty or deleted
        bucket.option = instead_of(bucket.option);
        std::memcpy(in_table, &bucket, sizeof bucket);
    }
    head.table = reinterpret_cast<std::uintptr_t>(table);
    std::memcpy(place, &head, sizeof head);
}

}  // namespace optctx::image

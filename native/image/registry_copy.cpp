#include "image/registry_copy.hpp"

#include <cstddef>
#include <cstring>
#include <new>

namespace optctx::image {
namespace {

// Allocated as LLVM allocates, because its code frees this memory where a caller makes the map grow.
std::uint8_t* copy_bytes(std::uintptr_t from, std::size_t size) {
    auto* to = static_cast<std::uint8_t*>(::operator new(size));
    std::memcpy(to, reinterpret_cast<const void*>(from), size);
    return to;
}

// The head alone does not tell: it is the same again once an option is removed and another one registered.
std::vector<RegistryEntry> entries_of(const RegistryLayout& layout, std::uintptr_t map) {
    Snapshot memory;
    return load_entries(memory, map, layout).found;
}

}  // namespace

RegistryCopy::RegistryCopy(const RegistryLayout& layout, std::uintptr_t map,
                           const std::function<std::uintptr_t(std::uintptr_t)>& instead_of)
    : layout_(layout), original_(entries_of(layout, map)), head_(new std::uint64_t[head_words]()) {
    std::memcpy(head_.get(), reinterpret_cast<const void*>(map), layout.head_size());
    if (layout.kind == RegistryLayout::Kind::string_map)
        copy_string_map(instead_of);
    else
        copy_dense_map(instead_of);
}

bool RegistryCopy::is_current(std::uintptr_t map) const {
    try {
        return entries_of(layout_, map) == original_;
    } catch (const Misfit&) {
        return false;
    }
}

void RegistryCopy::copy_string_map(const std::function<std::uintptr_t(std::uintptr_t)>& instead_of) {
    StringMapHead head;
    std::memcpy(&head, head_.get(), sizeof head);
    // A pointer for each bucket, the sentinel that ends iteration, and a hash for each bucket.
    const std::size_t size = (head.buckets + 1) * sizeof(std::uintptr_t) + head.buckets * sizeof(std::uint32_t);
    std::uint8_t* table = copy_bytes(head.table, size);
    for (std::uint32_t i = 0; i < head.buckets; ++i) {
        std::uint8_t* place = table + i * sizeof(std::uintptr_t);
        std::uintptr_t at;
        std::memcpy(&at, place, sizeof at);
        if (!is_entry(at)) continue;
        StringMapEntry entry;
        std::memcpy(&entry, reinterpret_cast<const void*>(at), sizeof entry);
        std::uint8_t* copy = copy_bytes(at, sizeof entry + entry.length + 1);
        entry.option = instead_of(entry.option);
        std::memcpy(copy, &entry, sizeof entry);
        std::memcpy(place, &copy, sizeof copy);
    }
    std::memcpy(head_.get(), &table, sizeof table);
}

void RegistryCopy::copy_dense_map(const std::function<std::uintptr_t(std::uintptr_t)>& instead_of) {
    auto* place = reinterpret_cast<std::uint8_t*>(head_.get()) + layout_.epoch;
    const auto head = dense_map_head(layout_.kind, [place]<class Head>(Head loaded) {
        std::memcpy(&loaded, place, sizeof loaded);
        return loaded;
    });
    const bool has_bitmap = layout_.kind == RegistryLayout::Kind::bitmap;
    const std::size_t buckets_size = head.buckets * sizeof(DenseMapBucket);
    const std::size_t bitmap_size = has_bitmap ? bitmap_words(head.buckets) * sizeof(std::uint32_t) : 0;
    std::uint8_t* table = copy_bytes(head.table, buckets_size + bitmap_size);
    std::uint8_t* bitmap = table + buckets_size;
    for (std::uint32_t i = 0; i < head.buckets; ++i) {
        std::uint8_t* in_table = table + i * sizeof(DenseMapBucket);
        DenseMapBucket bucket;
        std::memcpy(&bucket, in_table, sizeof bucket);
        if (!is_used(layout_.kind, bucket.key, reinterpret_cast<const std::uint32_t*>(bitmap), i)) continue;
        bucket.option = instead_of(bucket.option);
        std::memcpy(in_table, &bucket, sizeof bucket);
    }
    std::memcpy(place + offsetof(BitmapHead, table), &table, sizeof table);
    if (has_bitmap) std::memcpy(place + offsetof(BitmapHead, bitmap), &bitmap, sizeof bitmap);
}

}  // namespace optctx::image

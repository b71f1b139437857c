#include "image/registry_copy.hpp"

#include <cstddef>
#include <cstring>
#include <new>

namespace optctx::image {
namespace {

// Allocated as LLVM allocates, because its code frees this memory where a caller makes the map grow.
std::uintptr_t copy_bytes(std::uintptr_t from, std::size_t size) {
    void* const to = std::memcpy(::operator new(size), reinterpret_cast<const void*>(from), size);
    return reinterpret_cast<std::uintptr_t>(to);
}

void free_bytes(std::uintptr_t bytes) noexcept { ::operator delete(reinterpret_cast<void*>(bytes)); }

// The head alone does not tell: it is the same again once an option is removed and another one registered.
std::vector<RegistryEntry> entries_of(const RegistryLayout& layout, std::uintptr_t map) {
    Snapshot memory;
    return load_entries(memory, map, layout).found;
}

}  // namespace

RegistryCopy::RegistryCopy(const RegistryLayout& layout, std::uintptr_t map,
                           const std::function<std::uintptr_t(std::uintptr_t)>& instead_of)
    : layout_(layout), original_(entries_of(layout, map)), head_(new std::byte[head_size]()) {
    std::memcpy(head_.get(), reinterpret_cast<const void*>(map), layout.head_size());
    if (layout.kind == RegistryLayout::Kind::string_map)
        copy_string_map(instead_of);
    else
        copy_dense_map(instead_of);
}

// The table comes first in every kind of head.
RegistryCopy::~RegistryCopy() {
    const auto& head = *reinterpret_cast<const StringMapHead*>(head_.get() + layout_.epoch);
    if (layout_.kind == RegistryLayout::Kind::string_map)
        for (std::uint32_t i = 0; i < head.buckets; ++i)
            if (const auto entry = reinterpret_cast<const std::uintptr_t*>(head.table)[i]; is_entry(entry))
                free_bytes(entry);
    free_bytes(head.table);
}

bool RegistryCopy::is_current(std::uintptr_t map) const {
    try {
        return entries_of(layout_, map) == original_;
    } catch (const Misfit&) {
        return false;
    }
}

void RegistryCopy::copy_string_map(const std::function<std::uintptr_t(std::uintptr_t)>& instead_of) {
    auto& head = *reinterpret_cast<StringMapHead*>(head_.get());
    // A pointer for each bucket, the sentinel that ends iteration, and a hash for each bucket.
    const std::size_t size = (head.buckets + 1) * sizeof(std::uintptr_t) + head.buckets * sizeof(std::uint32_t);
    head.table = copy_bytes(head.table, size);
    auto* const table = reinterpret_cast<std::uintptr_t*>(head.table);
    for (std::uint32_t i = 0; i < head.buckets; ++i) {
        if (!is_entry(table[i])) continue;
        const std::size_t length = reinterpret_cast<const StringMapEntry*>(table[i])->length;
        table[i] = copy_bytes(table[i], sizeof(StringMapEntry) + length + 1);
        std::uintptr_t& option = reinterpret_cast<StringMapEntry*>(table[i])->option;
        option = instead_of(option);
    }
}

void RegistryCopy::copy_dense_map(const std::function<std::uintptr_t(std::uintptr_t)>& instead_of) {
    std::byte* const place = head_.get() + layout_.epoch;
    const auto head = dense_map_head(
        layout_.kind, [place]<class Head>(const Head&) { return *reinterpret_cast<const Head*>(place); });
    const bool has_bitmap = layout_.kind == RegistryLayout::Kind::bitmap;
    const std::size_t buckets_size = head.buckets * sizeof(DenseMapBucket);
    const std::size_t bitmap_size = has_bitmap ? bitmap_words(head.buckets) * sizeof(std::uint32_t) : 0;
    const std::uintptr_t table = copy_bytes(head.table, buckets_size + bitmap_size);
    auto* const buckets = reinterpret_cast<DenseMapBucket*>(table);
    const auto* const bitmap = reinterpret_cast<const std::uint32_t*>(table + buckets_size);
    for (std::uint32_t i = 0; i < head.buckets; ++i)
        if (is_used(layout_.kind, buckets[i].key, bitmap, i)) buckets[i].option = instead_of(buckets[i].option);
    auto* const copied = reinterpret_cast<BitmapHead*>(place);
    copied->table = table;
    if (has_bitmap) copied->bitmap = table + buckets_size;
}

}  // namespace optctx::image

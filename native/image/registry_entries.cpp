#include "image/registry_entries.hpp"

#include <bit>

namespace optctx::image {
namespace {

constexpr std::uint32_t most_buckets = 1 << 18;  // LLVM 22's 2,596 names take 8,192
constexpr std::size_t longest_key = 256;         // bytes; LLVM 22's longest name has 65
constexpr std::uint32_t most_categories = 64;    // of one option

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

void check_buckets(std::uint32_t buckets, std::uint32_t entries, std::uint32_t tombstones) {
    if (!std::has_single_bit(buckets) || buckets > most_buckets || entries > buckets || tombstones > buckets - entries)
        throw Misfit(std::to_string(entries) + " entries and " + std::to_string(tombstones) + " deleted ones in " +
                     std::to_string(buckets) + " buckets");
}

// In one piece: a page at a time takes three times as long.
template <class Item>
std::vector<Item> load_table(std::uintptr_t table, std::size_t count, const char* what) {
    std::vector<Item> loaded(count);
    load_bytes(table, loaded.data(), sizeof(Item) * count, what);
    return loaded;
}

RegistryEntries load_string_map(Snapshot& memory, std::uintptr_t map) {
    const auto head = memory.load<StringMapHead>(map, "a StringMap");
    if (head.item_size != sizeof(StringMapEntry))
        throw Misfit("its items have " + std::to_string(head.item_size) + " bytes");
    check_buckets(head.buckets, head.items, head.tombstones);
    RegistryEntries entries{head.items, {}};
    for (const std::uintptr_t at : load_table<std::uintptr_t>(head.table, head.buckets, "the buckets")) {
        if (!is_entry(at)) continue;
        const auto entry = memory.load<StringMapEntry>(at, "an entry");
        entries.found.push_back({at + sizeof entry, entry.length, entry.option});
    }
    return entries;
}

RegistryEntries load_dense_map(Snapshot& memory, std::uintptr_t map, RegistryLayout::Kind kind) {
    const auto head =
        dense_map_head(kind, [&]<class Head>(const Head&) { return memory.load<Head>(map, "a DenseMap"); });
    check_buckets(head.buckets, head.entries, head.tombstones);
    std::vector<std::uint32_t> bitmap;
    if (kind == RegistryLayout::Kind::bitmap) {
        if (head.bitmap != head.table + sizeof(DenseMapBucket) * head.buckets)
            throw Misfit("its bitmap does not follow its buckets");
        bitmap = load_table<std::uint32_t>(head.bitmap, bitmap_words(head.buckets), "the bitmap");
    }
    RegistryEntries entries{head.entries, {}};
    const auto buckets = load_table<DenseMapBucket>(head.table, head.buckets, "the buckets");
    for (std::uint32_t i = 0; i < head.buckets; ++i)
        if (is_used(kind, buckets[i].key, bitmap.data(), i))
            entries.found.push_back({buckets[i].key, buckets[i].length, buckets[i].option});
    return entries;
}

}  // namespace

RegistryEntries load_entries(Snapshot& memory, std::uintptr_t map, const RegistryLayout& layout) {
    if (layout.kind == RegistryLayout::Kind::string_map) return load_string_map(memory, map);
    return load_dense_map(memory, map + layout.epoch, layout.kind);
}

std::string load_key(Snapshot& memory, const RegistryEntry& entry) {
    return memory.load_text(entry.key, entry.length, "the name of an option", longest_key);
}

std::string OptionProof::own_name(std::uintptr_t address) {
    if (address % alignof(RawOption) != 0) throw Misfit("the address of an option is not aligned");
    const auto raw = memory_.load<RawOption>(address, "an option");
    if (proven_.insert(address).second) {
        memory_.load_text(number(raw.help.data), raw.help.size, "the help text of an option");
        memory_.load_text(number(raw.value_name.data), raw.value_name.size, "the name of an option's value");
        prove_categories(raw);
    }
    return memory_.load_text(number(raw.arg.data), raw.arg.size, "an option's own name", longest_key);
}

void OptionProof::prove_categories(const RawOption& raw) {
    if (raw.category_count > most_categories || raw.category_count > raw.category_capacity)
        throw Misfit("an option has " + std::to_string(raw.category_count) + " categories");
    for (std::uint32_t i = 0; i < raw.category_count; ++i) {
        const auto category = memory_.load<std::uintptr_t>(number(raw.categories + i), "a category of an option");
        if (!proven_.insert(category).second) continue;
        const auto name = memory_.load<RawStringRef>(category, "a category of options");
        memory_.load_text(number(name.data), name.size, "the name of a category");
    }
}

}  // namespace optctx::image

#include "image/registry.hpp"

#include "image/memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <unordered_set>

namespace optctx::image {

const RegistryLayout& registry_layout(const std::string& name) {
    const auto found = std::ranges::find_if(registry_layouts, [&](const auto& layout) { return layout.name == name; });
    if (found == std::end(registry_layouts)) throw std::runtime_error("no map of options is called '" + name + "'");
    return *found;
}

namespace {

constexpr std::uint32_t most_buckets = 1 << 18;  // LLVM 22's 2,596 names take 8,192
constexpr std::size_t longest_key = 256;         // bytes; LLVM 22's longest name has 65
constexpr std::uint32_t most_categories = 64;    // of one option

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// Collects entries, and proves each before the next is read.
class Entries {
public:
    explicit Entries(Snapshot& memory) : memory_(memory) {}

    void add(std::uintptr_t key, std::size_t length, std::uintptr_t option) {
        std::string name = memory_.load_text(key, length, "the name of an option", longest_key);
        if (name.empty() || !keys_.insert(name).second) throw Misfit("the key '" + name + "' is empty or there twice");
        const std::string own = own_name(option);
        if (!own.empty() && own != name) throw Misfit("the option under key '" + name + "' is called '" + own + "'");
        nameless_ += own.empty();
        options_.push_back({std::move(name), option});
    }

    std::vector<RegisteredOption> take(std::uint32_t announced) {
        if (options_.size() != announced || announced == 0)
            throw Misfit(std::to_string(options_.size()) + " entries found, " + std::to_string(announced) +
                         " announced");
        // An option without a name is registered under each of its literal values. LLVM 22 has two.
        if (nameless_ > 8 + announced / 64)
            throw Misfit(std::to_string(nameless_) + " of " + std::to_string(announced) + " options have no name");
        return std::move(options_);
    }

private:
    // The name inside an Option, once everything else that its head points at is proven.
    std::string own_name(std::uintptr_t address) {
        if (address % alignof(RawOption) != 0) throw Misfit("the address of an option is not aligned");
        const auto raw = memory_.load<RawOption>(address, "an option");
        if (proven_.insert(address).second) {
            memory_.prove_text(number(raw.help.data), raw.help.size, "the help text of an option");
            memory_.prove_text(number(raw.value_name.data), raw.value_name.size, "the name of an option's value");
            prove_categories(raw);
        }
        return memory_.load_text(number(raw.arg.data), raw.arg.size, "an option's own name", longest_key);
    }

    void prove_categories(const RawOption& raw) {
        if (raw.category_count > most_categories || raw.category_count > raw.category_capacity)
            throw Misfit("an option has " + std::to_string(raw.category_count) + " categories");
        for (std::uint32_t i = 0; i < raw.category_count; ++i) {
            const auto category = memory_.load<std::uintptr_t>(number(raw.categories + i), "a category of an option");
            if (!proven_.insert(category).second) continue;
            const auto name = memory_.load<RawStringRef>(category, "a category of options");
            memory_.prove_text(number(name.data), name.size, "the name of a category");
        }
    }

    Snapshot& memory_;
    std::vector<RegisteredOption> options_;
    std::unordered_set<std::string> keys_;
    std::unordered_set<std::uintptr_t> proven_;  // options and categories
    std::size_t nameless_ = 0;
};

void check_buckets(std::uint32_t buckets, std::uint32_t entries, std::uint32_t tombstones) {
    if (!std::has_single_bit(buckets) || buckets > most_buckets || entries > buckets || tombstones > buckets - entries)
        throw Misfit(std::to_string(entries) + " entries and " + std::to_string(tombstones) + " deleted ones in " +
                     std::to_string(buckets) + " buckets");
}

template <class Item>
std::vector<Item> load_table(Snapshot& memory, std::uintptr_t table, std::size_t count, const char* what) {
    const auto bytes = memory.load_bytes(table, sizeof(Item) * count, what);
    std::vector<Item> loaded(count);
    std::memcpy(loaded.data(), bytes.data(), bytes.size());
    return loaded;
}

std::vector<RegisteredOption> walk_string_map(Snapshot& memory, std::uintptr_t map) {
    const auto head = memory.load<StringMapHead>(map, "a StringMap");
    if (head.item_size != sizeof(StringMapEntry))
        throw Misfit("its items have " + std::to_string(head.item_size) + " bytes");
    check_buckets(head.buckets, head.items, head.tombstones);
    Entries entries(memory);
    for (const std::uintptr_t at : load_table<std::uintptr_t>(memory, head.table, head.buckets, "the buckets")) {
        if (!is_entry(at)) continue;
        const auto entry = memory.load<StringMapEntry>(at, "an entry");
        entries.add(at + sizeof entry, entry.length, entry.option);
    }
    return entries.take(head.items);
}

std::vector<RegisteredOption> walk_dense_map(Snapshot& memory, std::uintptr_t map, RegistryLayout::Kind kind) {
    const auto head =
        dense_map_head(kind, [&]<class Head>(const Head&) { return memory.load<Head>(map, "a DenseMap"); });
    check_buckets(head.buckets, head.entries, head.tombstones);
    std::vector<std::uint32_t> bitmap;
    if (kind == RegistryLayout::Kind::bitmap) {
        if (head.bitmap != head.table + sizeof(DenseMapBucket) * head.buckets)
            throw Misfit("its bitmap does not follow its buckets");
        bitmap = load_table<std::uint32_t>(memory, head.bitmap, bitmap_words(head.buckets), "the bitmap");
    }
    Entries entries(memory);
    const auto buckets = load_table<DenseMapBucket>(memory, head.table, head.buckets, "the buckets");
    for (std::uint32_t i = 0; i < head.buckets; ++i)
        if (is_used(kind, buckets[i].key, bitmap.data(), i))
            entries.add(buckets[i].key, buckets[i].length, buckets[i].option);
    return entries.take(head.entries);
}

std::vector<RegisteredOption> walk(Snapshot& memory, std::uintptr_t map, const RegistryLayout& layout) {
    if (layout.kind == RegistryLayout::Kind::string_map) return walk_string_map(memory, map);
    return walk_dense_map(memory, map + layout.epoch, layout.kind);
}

}  // namespace

Registry walk_registry(std::uintptr_t map) {
    Snapshot memory;
    std::string reasons;
    for (const RegistryLayout& layout : registry_layouts) {
        try {
            return {layout.name, walk(memory, map, layout)};
        } catch (const Misfit& misfit) {
            reasons += std::string(reasons.empty() ? "" : "; ") + layout.name + ": " + misfit.what();
        }
    }
    throw Misfit("the registry of options has no layout that is known here (" + reasons + ")");
}

}  // namespace optctx::image

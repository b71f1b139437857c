#include "image/registry.hpp"

#include "image/layouts.hpp"
#include "image/memory.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <unordered_set>
#include <utility>

namespace optctx::image {
namespace {

using Kind = RegistryLayout::Kind;

constexpr std::uint32_t most_buckets = 1 << 18;  // LLVM 22's 2,596 names take 8,192
constexpr std::size_t longest_key = 256;         // bytes; LLVM 22's longest name has 65
constexpr std::uint32_t most_categories = 64;    // of one option

// StringMap<Option *>: a pointer to an entry for each bucket, then a word that ends iteration, then hashes.
struct StringMapHead {
    std::uintptr_t table;
    std::uint32_t buckets, items, tombstones, item_size;
};
struct StringMapEntry {
    std::size_t length;
    std::uintptr_t option;  // the key and a zero byte follow
};
bool is_entry(std::uintptr_t entry) { return entry != 0 && entry != static_cast<std::uintptr_t>(-1) << 3; }

// A bucket of DenseMap<StringRef, Option *>.
struct Entry {
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
static_assert(sizeof(StringMapHead) == 24 && sizeof(StringMapEntry) == 16 && sizeof(Entry) == 24);
static_assert(sizeof(TombstonesHead) == 24 && sizeof(SentinelsHead) == 16 && sizeof(BitmapHead) == 24);

// Of a map. Nothing is known yet of keys and options.
struct Entries {
    std::uint32_t announced;
    std::vector<Entry> found;
};

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

Entries load_string_map(Snapshot& memory, std::uintptr_t map) {
    const auto head = memory.load<StringMapHead>(map, "a StringMap");
    if (head.item_size != sizeof(StringMapEntry))
        throw Misfit("its items have " + std::to_string(head.item_size) + " bytes");
    check_buckets(head.buckets, head.items, head.tombstones);
    Entries entries{head.items, {}};
    for (const std::uintptr_t at : load_table<std::uintptr_t>(head.table, head.buckets, "the buckets")) {
        if (!is_entry(at)) continue;
        const auto entry = memory.load<StringMapEntry>(at, "an entry");
        entries.found.push_back({at + sizeof entry, entry.length, entry.option});
    }
    return entries;
}

// `is_used`: whether a bucket is, by the address of its key and its number.
template <class IsUsed>
Entries load_buckets(std::uintptr_t table, std::uint32_t buckets, std::uint32_t entries, IsUsed is_used) {
    Entries loaded{entries, {}};
    const auto all = load_table<Entry>(table, buckets, "the buckets");
    for (std::uint32_t i = 0; i < buckets; ++i)
        if (is_used(all[i].key, i)) loaded.found.push_back(all[i]);
    return loaded;
}

Entries load_dense_map(Snapshot& memory, std::uintptr_t map, Kind kind) {
    constexpr auto last = static_cast<std::uintptr_t>(-1);
    if (kind == Kind::tombstones) {
        const auto head = memory.load<TombstonesHead>(map, "a DenseMap");
        check_buckets(head.buckets, head.entries, head.tombstones);
        return load_buckets(head.table, head.buckets, head.entries,
                            [](std::uintptr_t key, std::uint32_t) { return key < last - 1; });
    }
    if (kind == Kind::sentinels) {
        const auto head = memory.load<SentinelsHead>(map, "a DenseMap");
        check_buckets(head.buckets, head.entries, 0);
        return load_buckets(head.table, head.buckets, head.entries,
                            [](std::uintptr_t key, std::uint32_t) { return key < last; });
    }
    const auto head = memory.load<BitmapHead>(map, "a DenseMap");
    check_buckets(head.buckets, head.entries, 0);
    if (head.bitmap != head.table + sizeof(Entry) * head.buckets)
        throw Misfit("its bitmap does not follow its buckets");
    const auto bitmap = load_table<std::uint32_t>(head.bitmap, (std::size_t{head.buckets} + 31) / 32, "the bitmap");
    return load_buckets(head.table, head.buckets, head.entries,
                        [&bitmap](std::uintptr_t, std::uint32_t i) { return (bitmap[i / 32] >> (i % 32) & 1) != 0; });
}

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// Collects the options of a map, and proves each before the next is read.
class Options {
public:
    explicit Options(Snapshot& memory) : memory_(memory) {}

    void leave_out() { ++left_out_; }

    void add(const Entry& entry) {
        std::string name = memory_.load_text(entry.key, entry.length, "the name of an option", longest_key);
        if (name.empty() || !keys_.insert(name).second) throw Misfit("the key '" + name + "' is empty or there twice");
        const RawOption raw = prove(entry.option);
        const std::string own =
            memory_.load_text(number(raw.arg.data), raw.arg.size, "an option's own name", longest_key);
        if (!own.empty() && own != name) throw Misfit("the option under key '" + name + "' is called '" + own + "'");
        nameless_ += own.empty();
        if (raw.is_default_option())
            leave_out();
        else
            options_.emplace_back(std::move(name), entry.option);
    }

    Registry::second_type take(std::uint32_t announced) {
        const std::size_t found = options_.size() + left_out_;
        if (found != announced || announced == 0)
            throw Misfit(std::to_string(found) + " entries found, " + std::to_string(announced) + " announced");
        // An option without a name is registered under each of its literal values. LLVM 22 has two.
        if (nameless_ > 8 + announced / 64)
            throw Misfit(std::to_string(nameless_) + " of " + std::to_string(announced) + " options have no name");
        std::ranges::sort(options_);
        return std::move(options_);
    }

private:
    // Proves that all that the head of an Option points at can be read, but for the option's name.
    RawOption prove(std::uintptr_t address) {
        if (address % alignof(RawOption) != 0) throw Misfit("the address of an option is not aligned");
        const auto raw = memory_.load<RawOption>(address, "an option");
        if (proven_.insert(address).second) {
            memory_.load_text(number(raw.help.data), raw.help.size, "the help text of an option");
            memory_.load_text(number(raw.value_name.data), raw.value_name.size, "the name of an option's value");
            prove_categories(raw);
            memory_.load<std::uintptr_t>(number(raw.vtable), "the virtual functions of an option");
        }
        return raw;
    }

    void prove_categories(const RawOption& raw) {
        if (raw.category_count > most_categories || raw.category_count > raw.category_capacity)
            throw Misfit("an option has " + std::to_string(raw.category_count) + " categories");
        for (std::uint32_t i = 0; i < raw.category_count; ++i) {
            const auto category = memory_.load<std::uintptr_t>(number(raw.categories + i), "a category of an option");
            if (!proven_.insert(category).second) continue;
            const auto name = memory_.load<RawStringRef>(category, "a category of options");
            memory_.load_text(number(name.data), name.size, "the name of a category");
        }
    }

    Snapshot& memory_;
    std::unordered_set<std::uintptr_t> proven_;  // options and categories
    Registry::second_type options_;
    std::unordered_set<std::string> keys_;
    std::size_t nameless_ = 0;
    std::size_t left_out_ = 0;
};

Registry::second_type walk(Snapshot& memory, std::uintptr_t map, const RegistryLayout& layout, const Library* image) {
    const Entries entries = layout.kind == Kind::string_map ? load_string_map(memory, map)
                                                            : load_dense_map(memory, map + layout.epoch, layout.kind);
    Options options(memory);
    for (const Entry& entry : entries.found) {
        try {
            options.add(entry);
        } catch (const Misfit&) {
            if (image == nullptr || image->contains(entry.option)) throw;
            options.leave_out();
        }
    }
    return options.take(entries.announced);
}

}  // namespace

Registry walk_registry(std::uintptr_t map, const Library* image) {
    Snapshot memory(image == nullptr ? std::span<const Span>() : image->mapped());
    std::string reasons;
    for (const RegistryLayout& layout : registry_layouts) {
        try {
            return {layout.name, walk(memory, map, layout, image)};
        } catch (const Misfit& misfit) {
            reasons += std::string(reasons.empty() ? "" : "; ") + layout.name + ": " + misfit.what();
        }
    }
    throw Misfit("the registry of options has no layout that is known here (" + reasons + ")");
}

}  // namespace optctx::image

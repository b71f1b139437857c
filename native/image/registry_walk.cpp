#include "image/registry_walk.hpp"

#include "image/memory.hpp"

#include <bit>
#include <cstring>
#include <functional>
#include <unordered_set>

namespace optctx::image {
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

template <class Bucket>
std::vector<Bucket> load_table(Snapshot& memory, std::uintptr_t table, std::uint32_t buckets) {
    const auto bytes = memory.load_bytes(table, sizeof(Bucket) * buckets, "the buckets");
    std::vector<Bucket> loaded(buckets);
    std::memcpy(loaded.data(), bytes.data(), bytes.size());
    return loaded;
}

// Layout A, LLVM 14 to 21: StringMap {Table**, u32 buckets, items, tombstones, item size}; an entry is
// {size_t key length; Option *value; char key[]}.
Registry walk_string_map(Snapshot& memory, std::uintptr_t map, const char* name) {
    struct Map {
        std::uintptr_t table;
        std::uint32_t buckets, items, tombstones, item_size;
    };
    struct Entry {
        std::size_t length;
        std::uintptr_t option;
    };
    const auto head = memory.load<Map>(map, "a StringMap");
    if (head.item_size != sizeof(Entry)) throw Misfit("its items have " + std::to_string(head.item_size) + " bytes");
    check_buckets(head.buckets, head.items, head.tombstones);
    Entries entries(memory);
    for (const std::uintptr_t at : load_table<std::uintptr_t>(memory, head.table, head.buckets)) {
        if (at == 0 || at == static_cast<std::uintptr_t>(-1) << 3) continue;
        const auto entry = memory.load<Entry>(at, "an entry");
        entries.add(at + sizeof(Entry), entry.length, entry.option);
    }
    return {name, entries.take(head.items)};
}

// Layout B, LLVM 22.1: DenseMap<StringRef, Option *> {buckets*, u32 entries, tombstones, buckets};
// empty and deleted keys point at -1 and -2.
Registry walk_dense_map(Snapshot& memory, std::uintptr_t map, const char* name) {
    struct Map {
        std::uintptr_t table;
        std::uint32_t entries, tombstones, buckets;
    };
    struct Bucket {
        std::uintptr_t key;
        std::size_t length;
        std::uintptr_t option;
    };
    const auto head = memory.load<Map>(map, "a DenseMap");
    check_buckets(head.buckets, head.entries, head.tombstones);
    Entries entries(memory);
    for (const Bucket& bucket : load_table<Bucket>(memory, head.table, head.buckets))
        if (bucket.key < static_cast<std::uintptr_t>(-2)) entries.add(bucket.key, bucket.length, bucket.option);
    return {name, entries.take(head.entries)};
}

}  // namespace

Registry walk_registry(std::uintptr_t map) {
    Snapshot memory;
    constexpr std::size_t epoch = 8;  // DebugEpochBase, only with ABI-breaking checks
    const std::pair<const char*, std::function<Registry(const char*)>> layouts[] = {
        {"StringMap", [&](const char* name) { return walk_string_map(memory, map, name); }},
        {"DenseMap with epoch", [&](const char* name) { return walk_dense_map(memory, map + epoch, name); }},
        {"DenseMap", [&](const char* name) { return walk_dense_map(memory, map, name); }},
    };
    std::string reasons;
    for (const auto& [name, walk] : layouts) {
        try {
            return walk(name);
        } catch (const Misfit& misfit) {
            reasons += std::string(reasons.empty() ? "" : "; ") + name + ": " + misfit.what();
        }
    }
    throw Misfit("the registry of options has no layout that is known here (" + reasons + ")");
}

}  // namespace optctx::image

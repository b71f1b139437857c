#include "image/registry_walk.hpp"

#include "os/os.hpp"

#include <cstring>
#include <functional>
#include <stdexcept>

namespace optctx::image {
namespace {

using Space = std::vector<os::MappedRange>;

struct Misfit : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class T>
T load(const Space& space, std::uintptr_t address) {
    if (!os::is_readable(space, address, sizeof(T))) throw Misfit("a pointer leads outside the process");
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}

std::string load_text(const Space& space, std::uintptr_t data, std::size_t size) {
    constexpr std::size_t longest = 256;
    if (size > longest || !os::is_readable(space, data, size)) throw Misfit("a key is no string");
    return {reinterpret_cast<const char*>(data), size};
}

void add_checked(const Space& space, Registry& registry, std::string key, std::uintptr_t option) {
    const auto raw = load<RawOption>(space, option);
    if (raw.arg.size != 0) {
        const auto name = load_text(space, reinterpret_cast<std::uintptr_t>(raw.arg.data), raw.arg.size);
        if (name != key) throw Misfit("the option under key '" + key + "' is called '" + name + "'");
    }
    registry.options.push_back({std::move(key), option});
}

void check_count(const Registry& registry, std::uint32_t entries) {
    if (registry.options.size() != entries || entries == 0)
        throw Misfit(std::to_string(registry.options.size()) + " entries found, " + std::to_string(entries) +
                     " announced");
}

// Layout A, LLVM 14 to 21: StringMap {Table**, u32 buckets, items, tombstones, item size}; an entry is
// {size_t key length; Option *value; char key[]}.
Registry walk_string_map(const Space& space, std::uintptr_t map) {
    struct Map {
        std::uintptr_t table;
        std::uint32_t buckets, items, tombstones, item_size;
    };
    const auto head = load<Map>(space, map);
    if (head.item_size != 16 || head.buckets > (1u << 20)) throw Misfit("no StringMap of pointers");
    Registry registry{"StringMap", {}};
    for (std::uint32_t i = 0; i < head.buckets; ++i) {
        const auto entry = load<std::uintptr_t>(space, head.table + 8 * i);
        if (entry == 0 || entry == static_cast<std::uintptr_t>(-1) << 3) continue;
        const auto length = load<std::size_t>(space, entry);
        const auto option = load<std::uintptr_t>(space, entry + 8);
        add_checked(space, registry, load_text(space, entry + 16, length), option);
    }
    check_count(registry, head.items);
    return registry;
}

// Layout B, LLVM 22.1: DenseMap<StringRef, Option *> {buckets*, u32 entries, tombstones, buckets};
// empty and deleted keys point at -1 and -2.
Registry walk_dense_map(const Space& space, std::uintptr_t map, const char* name) {
    struct Map {
        std::uintptr_t table;
        std::uint32_t entries, tombstones, buckets;
    };
    struct Bucket {
        std::uintptr_t key;
        std::size_t length;
        std::uintptr_t option;
    };
    const auto head = load<Map>(space, map);
    if (head.buckets > (1u << 20) || head.entries > head.buckets || head.tombstones > head.buckets)
        throw Misfit("no DenseMap");
    Registry registry{name, {}};
    for (std::uint32_t i = 0; i < head.buckets; ++i) {
        const auto bucket = load<Bucket>(space, head.table + sizeof(Bucket) * i);
        if (bucket.key >= static_cast<std::uintptr_t>(-2)) continue;
        add_checked(space, registry, load_text(space, bucket.key, bucket.length), bucket.option);
    }
    check_count(registry, head.entries);
    return registry;
}

}  // namespace

Registry walk_registry(std::uintptr_t map) {
    const Space space = os::address_space();
    constexpr std::size_t epoch = 8;  // DebugEpochBase, only with ABI-breaking checks
    const std::pair<const char*, std::function<Registry()>> layouts[] = {
        {"StringMap", [&] { return walk_string_map(space, map); }},
        {"DenseMap with epoch", [&] { return walk_dense_map(space, map + epoch, "DenseMap with epoch"); }},
        {"DenseMap", [&] { return walk_dense_map(space, map, "DenseMap"); }},
    };
    std::string reasons;
    for (const auto& [name, walk] : layouts) {
        try {
            return walk();
        } catch (const Misfit& misfit) {
            reasons += std::string(reasons.empty() ? "" : "; ") + name + ": " + misfit.what();
        }
    }
    throw std::runtime_error("the registry of options has no layout that is known here (" + reasons + ")");
}

}  // namespace optctx::image

#include "image/late_options.hpp"

#include "image/memory.hpp"
#include "image/registry_entries.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

namespace optctx::image {
namespace {

constexpr int most_attempts = 1000;  // registering an option takes LLVM a microsecond, some 20 where its map grows

// Returns the option of an entry if it can be read and has that name, or nullopt.
std::optional<LateOption> proven(Snapshot& memory, OptionProof& proof, const RegistryEntry& entry) {
    try {
        std::string name = load_key(memory, entry);
        const std::string own = proof.own_name(entry.option);
        if (name.empty() || (!own.empty() && own != name)) return std::nullopt;
        const auto raw = memory.load<RawOption>(entry.option, "an option");
        return LateOption{std::move(name), entry.option, reinterpret_cast<std::uintptr_t>(raw.vtable)};
    } catch (const Misfit&) {
        return std::nullopt;
    }
}

// Whether the memory of an option still holds it, where the map cannot be asked.
bool looks_alive(const LateOption& option) noexcept {
    try {
        Snapshot memory;
        const std::string own = OptionProof(memory).own_name(option.address);
        const auto raw = memory.load<RawOption>(option.address, "an option");
        return (own.empty() || own == option.name) && reinterpret_cast<std::uintptr_t>(raw.vtable) == option.vtable;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace

LateOptions::LateOptions(const RegistryLayout& layout, std::uintptr_t map, const std::vector<std::uintptr_t>& known)
    : layout_(layout), map_(map), known_(known.begin(), known.end()) {}

// Returns nullopt if the map changed under the walk.
std::optional<std::vector<LateOption>> LateOptions::try_to_find() const {
    const std::size_t head_size = layout_.head_size();
    const std::vector<std::uint8_t> before = load_bytes(map_, head_size, "the map of options");
    Snapshot memory;
    RegistryEntries entries{};
    try {
        entries = load_entries(memory, map_, layout_);
    } catch (const Misfit&) {
        return std::nullopt;
    }
    if (entries.found.size() != entries.announced) return std::nullopt;
    OptionProof proof(memory);
    std::vector<LateOption> late;
    for (const RegistryEntry& entry : entries.found) {
        if (known_.contains(entry.option)) continue;
        if (auto option = proven(memory, proof, entry)) late.push_back(std::move(*option));
    }
    if (load_bytes(map_, head_size, "the map of options") != before) return std::nullopt;
    return late;
}

std::vector<LateOption> LateOptions::find() const {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        if (auto found = try_to_find()) return std::move(*found);
        std::this_thread::yield();
    }
    throw Misfit("expected the map of options to stand still for a moment, found it changed each time");
}

bool LateOptions::has(const LateOption& option) const noexcept {
    try {
        const std::vector<LateOption> found = find();
        return std::ranges::find(found, option) != found.end();
    } catch (const std::exception&) {
        return looks_alive(option);
    }
}

bool LateOptions::has_name(std::string_view name) const {
    return std::ranges::any_of(find(), [&](const LateOption& each) { return each.name == name; });
}

}  // namespace optctx::image

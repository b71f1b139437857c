// The options of a map that were registered after its entries were read, and whether they still are.
#pragma once

#include "image/registry_layouts.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace optctx::image {

// An option by all that tells whether another one has taken its place.
struct LateOption {
    std::string name;
    std::uintptr_t address;
    std::uintptr_t vtable;
    friend bool operator==(const LateOption&, const LateOption&) = default;
};

// Takes no lock, calls nothing and never faults, so it may be asked on any thread and in the child of a fork. Each
// question is a walk through the map. Owned by a C++ shared_ptr, as Context is.
class LateOptions : public std::enable_shared_from_this<LateOptions> {
public:
    // `map`: as cl::getRegisteredOptions returned it outside contexts, proven by walk_registry. `known`: addresses of
    // the options that were there then. LLVM owns the map, which lives as long as the process.
    LateOptions(const RegistryLayout& layout, std::uintptr_t map, const std::vector<std::uintptr_t>& known);

    // Returns the entries that lead to other options now. Each is proven: its Option can be read and has its name. An
    // entry that does not check out is left out, because LLVM keeps the entries of libraries that were unloaded.
    // Other threads may register options at the same time. Throws Misfit if the map does not stand still.
    std::vector<LateOption> find() const;
    // Whether this option is still among them. If the map does not stand still, whether its memory still holds it.
    bool has(const LateOption& option) const noexcept;
    // Whether any option is, under this name.
    bool has_name(std::string_view name) const;

private:
    std::optional<std::vector<LateOption>> try_to_find() const;

    const RegistryLayout layout_;
    const std::uintptr_t map_;
    const std::unordered_set<std::uintptr_t> known_;
};

}  // namespace optctx::image

// Copies of all options for one activation, for code that asks LLVM for the objects of its options and writes to them
// through pointers.
#pragma once

#include "values/space.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace optctx::contexts {

class Exposed {
public:
    explicit Exposed(values::Space& space);
    Exposed(const Exposed&) = delete;
    Exposed& operator=(const Exposed&) = delete;
    ~Exposed();

    // Copies the options and variables that an activation with these values has no copies of, and leads its own copies
    // and these to each other. `view` leads to the activation's copies, and to these from then on.
    void fill(const std::vector<void*>& values, void** view);
    // Gives the copies of options and variables new values, where these differ from those in `before`, if given.
    void rewrite(const std::vector<void*>& values, const std::vector<void*>* before) noexcept;
    // Leads the activation's own copy of an option to this thread's variable, if it has one.
    void lead(std::uint32_t slot, void* object) const noexcept;
    bool has(std::uint32_t slot) const noexcept { return at_[slot] != nullptr; }
    // Returns the slot of the option that `view` leads to at this address, or nullopt.
    std::optional<std::uint32_t> slot_of(std::uintptr_t option, void* const* view) const noexcept;
    // Returns copies of the options that differ from these values, by slot.
    std::map<std::uint32_t, values::Setting> changes(const std::vector<void*>& values, void* const* view) const;

private:
    void copy(std::uint32_t slot, const void* from) noexcept;

    values::Space& space_;
    std::unique_ptr<values::Block> block_;
    std::vector<std::uint8_t*> at_;   // by slot; null for regions that are not here
    std::vector<void*> variable_of_;  // by slot of an option with external storage: where this thread's variable is
};

}  // namespace optctx::contexts

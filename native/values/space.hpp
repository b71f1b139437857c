// The regions of one image and their registered values, from which every context starts.
#pragma once

#include "os/fork_locks.hpp"
#include "values/debugging.hpp"
#include "values/region.hpp"
#include "values/region_copy.hpp"
#include "values/tap.hpp"
#include "views/layout.hpp"
#include "views/view.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace optctx::values {

struct Patch {
    std::uint32_t slot;
    std::shared_ptr<Block> block;
};
// The storage that gives one option a value: the option object and, if its storage is external, last its variable.
using Setting = std::vector<Patch>;

class Space {
public:
    // `add_occurrence`: LLVM's Option::addOccurrence(unsigned, StringRef, StringRef, bool).
    Space(unsigned image, std::vector<Region> regions, std::uintptr_t add_occurrence, const Reporting& reporting,
          std::shared_ptr<const views::Layout> layout);

    unsigned image() const noexcept { return image_; }
    const std::vector<Region>& regions() const noexcept { return regions_; }
    const std::shared_ptr<const views::Layout>& layout() const noexcept { return layout_; }
    // Return the view of the registered values. Regions that are not scoped show LLVM's globals.
    void* const* defaults() const noexcept { return defaults_.data(); }

    // Return the slot of the scoped option at this address, or nullopt.
    std::optional<std::uint32_t> slot_of(std::uintptr_t option) const noexcept;

    // Give the values in turn to LLVM's own parser for the option in `slot`, as its only occurrences. Does not touch
    // LLVM's globals and prints nothing. Throws ParseError.
    Setting parse(std::uint32_t slot, const Occurrences& values);
    // Give LLVM's parser the last of these values, after the ones before it, which it must have accepted, and let
    // LLVM print what it prints.
    void complain(std::uint32_t slot, Occurrences values);

    // Return what currently differs, process-wide, from what was registered. Return the same object until something
    // changes.
    std::shared_ptr<const Setting> drift();

    // Give contexts debug output of their own; the arguments are those of Debugging. Call before anything is
    // redirected.
    void scope_debugging(std::uint32_t debug, std::uint32_t debug_only, std::size_t type_size, Abi abi);
    Debugging* debugging() const noexcept { return debugging_.get(); }

    // Guard LLVM's own storage (intercept/setters.cpp), if LLVM is about to parse a value for this object of its own
    // that frees memory of the value before, which another thread may be copying. Such options have no callbacks, so no
    // parser comes back here or needs the GIL.
    os::ForkSafeLock hold_for_parse(std::uintptr_t option);

private:
    void copy_state(std::uint32_t slot);
    void build_defaults();
    Setting clone_process_wide(std::uint32_t slot) const;
    void empty(const Setting& copy) const;
    void keep_what_stays(const Setting& setting);
    Setting parse_locked(std::uint32_t slot, const Occurrences& values);
    void give_occurrences(void* option, const std::vector<Occurrence>& values, unsigned before);
    bool add_occurrence(void* option, unsigned position, const Occurrence& value) const;
    bool lists_types(std::uint32_t slot) const noexcept;
    bool drifted(std::uint32_t slot, void* const* reference) const;
    const void* live(std::uint32_t slot) const noexcept;

    unsigned image_;
    std::vector<Region> regions_;
    std::uintptr_t add_occurrence_;
    std::shared_ptr<const views::Layout> layout_;
    Tap tap_;
    std::vector<std::uint32_t> options_;     // slots of scoped options
    std::vector<std::uint32_t> by_address_;  // the same, by their addresses in the image
    std::vector<void*> defaults_;

    os::ForkSafeMutex parse_mutex_{os::Rank::parsing};
    std::map<std::pair<std::uint32_t, Occurrences>, Setting> kept_;  // settings that must never be freed

    os::ForkSafeMutex storage_mutex_{os::Rank::storage};
    std::vector<std::shared_ptr<Block>> default_blocks_;  // storage of the defaults, and what must never be freed
    std::unique_ptr<Debugging> debugging_;
    std::vector<void*> last_view_;  // defaults with the last drift on top
    std::shared_ptr<const Setting> last_drift_;
};

// Return the space of an image, or null before it is made.
Space* space_of(unsigned image) noexcept;

}  // namespace optctx::values

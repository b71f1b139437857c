// The copies of LLVM's storage that one entry into a context works on. From the beginning: the regions that LLVM itself
// may write. Once code asks LLVM for the objects of its options, to write to them through pointers: all other options.
#pragma once

#include "values/space.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace optctx::contexts {

struct CopyPlan;

// Plan the copies of a space's regions. Call once, before its first context is entered. Throws std::runtime_error if
// a region that LLVM may write cannot be copied for each entry.
void plan_copies(const values::Space& space);

// A word of copies or of a view that is not as in the base it is compared with.
struct Difference {
    std::uint32_t at;  // counted through all words
    std::uint64_t word;
};

class Copies {
public:
    // Copy the written regions from where `view` leads, and lead it to the copies.
    Copies(const values::Space& space, void** view);
    Copies(const Copies&) = delete;
    Copies& operator=(const Copies&) = delete;
    ~Copies();

    // Copies that were put away, to make room for others at the same addresses.
    struct Away {
        std::vector<Difference> differences;
        std::unique_ptr<values::Block> exposed;
    };
    // Return all words of the copies and of the regions in `view`: a base, for copies made later at these addresses.
    std::vector<std::uint64_t> words(void** view);
    // Keep what differs from the base, with all that it owns. The next call is `bring_back` or `renew`.
    Away put_away(const std::vector<std::uint64_t>& base, void** view);
    void bring_back(const std::vector<std::uint64_t>& base, Away&& away, void** view) noexcept;
    // Copy the written regions at the same addresses, as the constructor does.
    void renew(void** view);
    // Release what the copies own. The next call is `bring_back` or `renew`, or the destructor.
    void give_up() noexcept;

    // Discard what LLVM has written to the written regions. Not after `rewrite` or `expose`.
    void reset();
    // LLVM may have counted an occurrence in a copy. It does that in Option::addOccurrence alone, whose calls optctx
    // sees, and without `counted` a reset leaves the counts as they are.
    void counted() noexcept { counted_ = true; }
    // Return whether LLVM has written to options or their variables since the copies were made, reset, or exposed.
    bool is_written() const noexcept;
    // Give the copies of options and their variables the values of `values`, where these differ from those in
    // `before`, if given; state beside options stays. Lead `view` to `values` where there is no copy.
    void rewrite(const std::vector<void*>& values, const std::vector<void*>* before, void** view);

    // Copy all other options and variables from `values`, and lead `view` to the copies. An option whose storage is
    // external leads to this thread's variable from then on. Throws std::bad_alloc with nothing changed.
    void expose(const std::vector<void*>& values, void** view);
    bool is_exposed() const noexcept { return exposed_ != nullptr; }
    // Return, once exposed, the slot of the option whose copy is at this address, or nullopt.
    std::optional<std::uint32_t> slot_of(std::uintptr_t option) const noexcept;
    // Return, once exposed, new copies of the options that differ from these values, by slot.
    std::map<std::uint32_t, values::Setting> changes(const std::vector<void*>& values) const;

private:
    std::uint8_t* object(std::uint32_t slot) const noexcept;
    void give(std::uint32_t slot, const void* value);
    void lead(std::uint32_t slot) const noexcept;
    void note_pristine() noexcept;
    void renew_sets();
    void release_sets() noexcept;
    template <class Work>
    void each_word(void** view, const Work& work);

    const std::vector<values::Region>& regions_;
    CopyPlan& plan_;
    std::unique_ptr<values::Block> written_;
    std::unique_ptr<values::Block> exposed_;  // null until then
    bool counted_ = false;
    bool owns_ = false;                       // what the sets in `written_` hold
    std::vector<std::uint64_t> pristine_;     // value of each hot word before LLVM ran
    std::vector<const void*> pristine_sets_;  // for each copied std::set, the option whose value it starts with
};

}  // namespace optctx::contexts

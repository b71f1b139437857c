// What LLVM reads through, and may write to, inside a context: a view, and the copies that it leads to of the regions
// of LLVM's storage that LLVM itself may write. 110 KB.
#pragma once

#include "values/space.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

namespace optctx::contexts {

class Activation;
class Context;
struct CopyPlan;

// Plan the copies of a space's regions. Call once, before its first context is entered. Throws std::runtime_error if
// a region that LLVM may write cannot be copied for each entry.
void plan_copies(const values::Space& space);

class Storage {
public:
    // `values` maps each slot to the storage that holds its value, here and below.
    Storage(const values::Space& space, std::vector<void*> values);
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    ~Storage();

    views::View view() noexcept { return view_.data(); }
    // Lead the readers to the regions. If `reads` is not null, poison those that it does not know.
    void lead(Context* owner, views::Reads* reads) noexcept;

    // Discard what LLVM has written to the written regions, but for occurrences: it counts those in
    // Option::addOccurrence alone, whose calls optctx takes over inside a scope. Not after `rewrite`.
    void reset();
    // Return whether LLVM has written to options or their variables since the copies were made or reset.
    bool is_written() const noexcept;
    // Give the copies of options and their variables the values of `values`, where these differ from those in
    // `before`, if given; state beside options stays. Lead the view to `values` where there is no copy.
    void rewrite(const std::vector<void*>& values, const std::vector<void*>* before);

    // Return the slot of the option whose copy is at this address, or nullopt.
    std::optional<std::uint32_t> slot_of(std::uintptr_t option) const noexcept;

    // A word of the copies or the view that is not as in the base it is compared with.
    struct Difference {
        std::uint32_t at;  // counted through all words
        std::uint64_t word;
    };
    // Copies that were put away, to make room for others at the same addresses.
    using Away = std::vector<Difference>;
    // Return all words of the copies and of the regions in the view: a base, for copies made later at these addresses.
    std::vector<std::uint64_t> words();
    // Keep what differs from the base, with all that it owns. The next call is `bring_back` or `renew`.
    Away put_away(const std::vector<std::uint64_t>& base);
    void bring_back(const std::vector<std::uint64_t>& base, Away&& away) noexcept;
    // Show these values from now on, copied to the same addresses. What the copies own is not released.
    void renew(const std::vector<void*>& values);
    // Release what the copies own. The next call is `bring_back` or `renew`, or the destructor.
    void give_up() noexcept;

private:
    void copy();
    std::uint8_t* object(std::uint32_t slot) const noexcept;
    void give(std::uint32_t slot, const void* value);
    void note_pristine() noexcept;
    template <class Work>
    void each_word(const Work& work);

    const std::vector<values::Region>& regions_;
    const std::shared_ptr<const views::Layout> layout_;
    CopyPlan& plan_;
    std::vector<void*> view_;
    std::unique_ptr<values::Block> written_;
    bool owns_ = false;                    // the strings in `written_`, or its shares of them
    std::vector<std::uint64_t> pristine_;  // value of each hot word before LLVM ran
};

// The storage that the deeply nested activations of one thread and image share. It belongs to one of them at a time;
// each of the others keeps what it has to differ in. LLVM may keep addresses into it, so it never moves.
struct DeepStorage : Storage, std::enable_shared_from_this<DeepStorage> {
    DeepStorage(const values::Space& space, std::vector<void*> values);
    ~DeepStorage();

    const std::vector<std::uint64_t> base;  // its words, as they were at first
    const unsigned image;
    Activation* holder = nullptr;
    std::unordered_set<const Activation*> activations{};
};

// Return that of this thread, or null.
DeepStorage* deep_storage(unsigned image) noexcept;

}  // namespace optctx::contexts

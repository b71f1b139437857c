// What LLVM reads through, and may write to, inside a context: a view, and the copies that it leads to of the regions
// of LLVM's storage that LLVM itself may write. 120 KB.
#pragma once

#include "values/space.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace optctx::contexts {

class Context;
struct Copies;
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
    // Lead the readers to the regions, under this context. Poison those that its reads, if it has any, do not know.
    void lead(Context& owner) noexcept;

    // From now on, resetting includes the regions of these groups of slots: LLVM may write to them at any time
    // (design/isolation.md).
    void expose(const views::Exposed& groups) noexcept;
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

private:
    void copy();
    std::uint8_t* object(std::uint32_t slot) const noexcept;
    void give(std::uint32_t slot, const void* from);
    void add_exposed(const std::vector<std::uint32_t>& indexes) noexcept;
    void reset_string(std::size_t index);
    bool is_pristine(std::size_t index) const noexcept;
    void note_pristine(std::size_t begin, std::size_t size) noexcept;

    const std::vector<values::Region>& regions_;
    const std::shared_ptr<const views::Layout> layout_;
    CopyPlan& plan_;
    std::vector<void*> view_;
    std::unique_ptr<Copies> copies_;
    values::Block* written_;
    std::vector<const void*> string_sources_;  // of each copy with a newer string
    std::vector<std::uint64_t> pristine_;      // value of each hot word before LLVM ran
    // What resetting includes: words by place, and strings by index (storage.cpp).
    struct ExposedWord {
        std::uint64_t pristine;
        std::uint32_t at;
    };
    std::vector<ExposedWord> exposed_words_;
    std::vector<std::uint32_t> exposed_strings_;
};

}  // namespace optctx::contexts

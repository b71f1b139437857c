// What LLVM reads through, and may write to, inside a context: a view, and the copies that it leads to. 110 KB.
#pragma once

#include "contexts/copies.hpp"
#include "values/space.hpp"

#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

namespace optctx::contexts {

class Activation;
class Context;

class Storage {
public:
    // `values` maps each slot to the storage that holds its value.
    Storage(const values::Space& space, std::vector<void*> values);

    views::View view() noexcept { return view_.data(); }
    Copies& copies() noexcept { return copies_; }
    // Lead the readers to the regions. If `reads` is not null, poison those that it does not know.
    void lead(Context* owner, views::Reads* reads) noexcept;
    // Show these values from now on, without what LLVM has written. What the copies own is not released.
    void renew(const std::vector<void*>& values);

private:
    std::shared_ptr<const views::Layout> layout_;
    std::vector<void*> view_;
    Copies copies_;
};

// The storage that the deeply nested activations of one thread and image share. It belongs to one of them at a time;
// each of the others keeps what it has to differ in. LLVM may keep addresses into it, so it never moves.
struct DeepStorage : std::enable_shared_from_this<DeepStorage> {
    DeepStorage(const values::Space& space, std::vector<void*> values);
    DeepStorage(const DeepStorage&) = delete;
    DeepStorage& operator=(const DeepStorage&) = delete;
    ~DeepStorage();

    Storage storage;
    const std::vector<std::uint64_t> base;  // its words, as they were at first
    const unsigned image;
    Activation* holder = nullptr;
    std::unordered_set<const Activation*> activations{};
};

// Return that of this thread, or null.
DeepStorage* deep_storage(unsigned image) noexcept;

}  // namespace optctx::contexts

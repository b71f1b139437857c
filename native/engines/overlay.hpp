// Puts a context's values into LLVM's own storage, and restores it.
#pragma once

#include "values/space.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace optctx::engines {

// What differed in LLVM's storage from the registered values, to be put back later: values, occurrence counts, and what
// LLVM itself wrote. Owns whatever the values own, those that did not differ, too.
struct Kept {
    struct Difference {
        std::uint32_t part;
        std::uint64_t value;
    };
    std::vector<Difference> differences;  // by part
};

// Exchanges only values, occurrence counts and positions, never whole objects. Call with no thread inside LLVM.
class Overlay {
public:
    explicit Overlay(values::Space& space);
    Overlay(const Overlay&) = delete;
    Overlay& operator=(const Overlay&) = delete;

    // Puts values into LLVM's storage: given as slot -> storage, which keeps its shares, or as kept by
    // `unload_and_keep`.
    void load(const std::vector<void*>& values);
    void load(const Kept& kept);
    // Restores LLVM's storage from before `load`, byte for byte. What LLVM wrote since is lost. `still_kept`: the
    // values were loaded from a Kept that still owns what they own.
    void unload(bool still_kept = false) noexcept;
    // Like `unload`, but keeps the values and what LLVM wrote.
    Kept unload_and_keep();

private:
    // A word of a region, or the bytes at its end that are no whole word.
    struct Part {
        std::uint32_t slot;
        std::uint32_t at;  // offset from the start of the region, in bytes
        std::uint32_t size;
        void* live;
    };
    void add(std::uint32_t slot, std::size_t at, std::size_t size);
    static std::uint64_t value_in(void* const* values, const Part& part) noexcept;
    void* live(std::uint32_t slot) const noexcept { return reinterpret_cast<void*>(space_.regions()[slot].live); }
    void cover();
    void restore() noexcept;

    values::Space& space_;
    std::vector<Part> parts_;
    std::vector<std::uint32_t> owning_;  // slots whose values own something
    std::vector<std::uint64_t> before_;  // contents of LLVM's storage before `load`, by part
};

}  // namespace optctx::engines

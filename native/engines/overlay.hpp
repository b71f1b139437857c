// Puts a context's values into LLVM's own storage, and restores it.
#pragma once

#include "values/space.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace optctx::engines {

// A part of LLVM's storage and what it held.
template <class T>
struct Held {
    std::uint32_t part;
    T value;
};
// What differed in LLVM's storage from the registered values, to be put back later: values, occurrence counts, and what
// LLVM itself wrote. Owns whatever the values own, those that did not differ, too.
struct Kept {
    std::vector<Held<std::uint64_t>> words;
    std::vector<Held<std::uint8_t>> bytes;
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
    // Most of the storage is exchanged in whole words, which is several times as fast as bytes.
    template <class T>
    struct Part {
        T* live;
        std::uint32_t slot;
        std::uint32_t at;  // offset from the start of the region, in bytes
    };
    void add(std::uint32_t slot, std::size_t at, std::size_t size);
    template <class T>
    T* live(std::uint32_t slot, std::size_t at = 0) const noexcept;
    void note_before() noexcept;
    void restore() noexcept;

    values::Space& space_;
    std::vector<Part<std::uint64_t>> words_;
    std::vector<Part<std::uint8_t>> bytes_;
    std::vector<std::uint32_t> owning_;        // slots whose values own something
    std::vector<std::uint64_t> words_before_;  // contents of LLVM's storage before `load`
    std::vector<std::uint8_t> bytes_before_;
};

}  // namespace optctx::engines

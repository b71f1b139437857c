// A context's values in LLVM's own storage, and the way back.
#pragma once

#include "view/space.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace optctx::view {

// What was in LLVM's storage, to be put there again: values, occurrence counts, and what LLVM wrote itself. Owns what
// those own.
struct Kept {
    std::vector<std::uint64_t> words;
    std::vector<std::uint8_t> bytes;
};

// Only values, occurrence counts and positions are exchanged, never whole objects. Call with nobody inside LLVM.
class Overlay {
public:
    explicit Overlay(Space& space);
    Overlay(const Overlay&) = delete;
    Overlay& operator=(const Overlay&) = delete;

    // Puts values (slot -> storage, which keeps what it owns) into LLVM's storage, or what was kept.
    void load(const std::vector<void*>& values);
    void load(const Kept& kept);
    // Puts back what was there before `load`, to the byte; whatever LLVM wrote meanwhile is gone.
    void unload() noexcept;
    // The same, but keeps it.
    Kept unload_and_keep();

private:
    // Nearly all of it is in whole words, which are several times as fast as bytes.
    template <class T>
    struct Part {
        T* live;
        std::uint32_t slot;
        std::uint32_t at;  // bytes from the start of the region
    };
    void add(std::uint32_t slot, std::size_t at, std::size_t size);
    template <class T>
    T* live(std::uint32_t slot, std::size_t at = 0) const noexcept;
    void keep(Kept& kept) const noexcept;
    void put(const Kept& kept) noexcept;

    Space& space_;
    std::vector<Part<std::uint64_t>> words_;
    std::vector<Part<std::uint8_t>> bytes_;
    std::vector<std::uint32_t> owning_;  // slots whose values own something
    Kept before_;                        // what was there before `load`
};

}  // namespace optctx::view

// A context's values in LLVM's own storage, and the way back.
#pragma once

#include "view/space.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace optctx::view {

// What was in LLVM's storage, to be put there again: values, occurrence counts, and what LLVM wrote itself. Owns what
// those own.
struct Parked {
    std::unique_ptr<Block> bytes;
};

// Only values, occurrence counts and positions are exchanged, never whole objects. Call with nobody inside LLVM.
class Overlay {
public:
    explicit Overlay(Space& space);
    Overlay(const Overlay&) = delete;
    Overlay& operator=(const Overlay&) = delete;

    // Puts values (slot -> storage, which keeps what it owns) into LLVM's storage, or what was parked.
    void load(const std::vector<void*>& values);
    void load(Parked parked);
    // Puts back what was there before `load`, to the byte; whatever LLVM wrote meanwhile is gone.
    void unload() noexcept;
    // The same, but keeps it.
    Parked park();

private:
    struct Span {
        std::uint32_t slot;
        std::size_t at;       // bytes from the start of the region
        std::size_t size;     // bytes
        std::size_t kept_at;  // bytes from the start of what is kept
    };
    void add(std::uint32_t slot, std::size_t at, std::size_t size);
    std::uint8_t* live(const Span& span) const noexcept;
    void* live_object(std::uint32_t slot) const noexcept;
    void keep(Block& block) const noexcept;
    void put(const Block& block) noexcept;

    Space& space_;
    std::vector<Span> spans_;
    std::vector<std::uint32_t> owning_;  // slots whose values own something
    std::size_t kept_bytes_ = 0;
    std::unique_ptr<Block> before_;  // what was there before `load`
};

}  // namespace optctx::view

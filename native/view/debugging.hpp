// Debug output for some threads only. LLVM_DEBUG (llvm/Support/Debug.h) prints where
// `DebugFlag && isCurrentDebugType(TYPE)`, at some ten thousand places. The flag stays LLVM's own: it is up, for the
// whole process, while any thread is inside a context with `debug`. Who prints is decided where isCurrentDebugType
// reads the list of types: the others are shown one on which nothing is that LLVM ever asks for.
#pragma once

#include "image/option_layout.hpp"
#include "os/fork_locks.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace optctx::view {

class Debugging {
public:
    struct Places {
        std::uintptr_t flag;        // llvm::DebugFlag
        std::uintptr_t location;    // of the pointer to it, in the Option called debug
        std::uintptr_t types;       // llvm::CurrentDebugType, which exists by now
        std::uintptr_t debug_only;  // the Option that raises the flag as well
        std::uint32_t flag_slot;
        std::uint32_t types_slot;
    };
    // Lives as long as the process.
    Debugging(unsigned image, const Places& places);
    Debugging(const Debugging&) = delete;
    Debugging& operator=(const Debugging&) = delete;

    std::uint32_t flag_slot() const noexcept { return places_.flag_slot; }
    std::uint32_t types_slot() const noexcept { return places_.types_slot; }
    // The list of types for threads that print, for threads that do not, and for threads outside every context.
    void* types(bool prints) const noexcept;
    void* types_outside() noexcept { return &outside_; }

    // The flag is up from the first to the last one. Meanwhile LLVM's parser writes to a copy of it.
    void raise() noexcept;
    void lower() noexcept;
    // Those of threads that live on in the child of a fork.
    void raised_by(std::size_t count) noexcept;

    // Sees to it that threads outside contexts follow what was set process-wide meanwhile.
    void follow() noexcept;
    // With the lock held: where the flag is that is process-wide, whoever has raised LLVM's own.
    os::ForkSafeLock hold() const;
    const void* process_wide_flag() const noexcept { return count_ > 0 ? &kept_ : flag(); }
    bool is_flag(std::uintptr_t address) const noexcept { return address == places_.flag; }

private:
    bool* flag() const noexcept { return reinterpret_cast<bool*>(places_.flag); }
    void point_option_at(bool* flag) const noexcept;
    std::uint16_t times_debug_only() const noexcept;
    void let_outside(bool print) noexcept;
    void begin() noexcept;
    void end() noexcept;
    void follow_held() noexcept;

    Places places_;
    std::size_t count_ = 0;
    bool kept_ = false;        // while it is up: what is process-wide
    std::uint16_t times_ = 0;  // that debug-only had been given when it went up
    image::RawManagedStatic outside_;
};

// The image's, or null.
Debugging* debugging(unsigned image) noexcept;
// If it is such a flag that is at the address: what is process-wide.
std::optional<bool> process_wide_flag(std::uintptr_t address);
// At the beginning of a call into LLVM: `follow`, where there may be need.
void follow_debugging() noexcept;

}  // namespace optctx::view

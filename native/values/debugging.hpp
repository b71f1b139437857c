// Debug output per thread. LLVM_DEBUG (llvm/Support/Debug.h) prints if `DebugFlag && isCurrentDebugType(TYPE)`, at
// about ten thousand places. The flag is not redirected: it is raised for the whole process while any thread is inside
// a context with `debug` or `debug-only`. The per-thread decision falls where isCurrentDebugType reads the list of
// types. Threads inside such a context see its own list. Threads that must not print see a list with a single type that
// LLVM never asks for.
#pragma once

#include "image/layouts.hpp"
#include "os/fork_locks.hpp"
#include "values/region_copy.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace optctx::values {

class Debugging {
public:
    // Must live until the process ends. By the slots of the options `debug`, whose variable is LLVM's flag, and
    // `debug-only`, whose variable is the list of types, already constructed. `type_size`: bytes of one, a string of
    // this ABI, and since LLVM 22 a level.
    Debugging(unsigned image, const std::vector<Region>& regions, std::uint32_t debug, std::uint32_t debug_only,
              std::size_t type_size, Abi abi);

    std::uint32_t flag_slot() const noexcept { return flag_slot_; }
    std::uint32_t debug_only_slot() const noexcept { return debug_only_slot_; }
    std::uint32_t types_slot() const noexcept { return types_slot_; }
    // Return what a thread finds inside a context that prints or does not: the flag, and the list of types, `types` if
    // it prints.
    static void* shown_flag(bool prints) noexcept;
    void* shown_types(bool prints, void* types) const noexcept;
    // Return the list of types that threads outside every context find.
    void* types_outside() noexcept { return &outside_; }

    // Lists of types for contexts, immutable and never freed: one without types, those that LLVM's parser makes of
    // values, and a copy of LLVM's own. The parser adds to LLVM's own list: during `parse`, which must give values to
    // `debug-only` only, an empty one of ours is in its place. Call the last three with the lock held that guards
    // LLVM's storage.
    static void* no_types() noexcept;
    std::shared_ptr<Block> parsed_types(const std::function<void()>& parse);
    std::shared_ptr<Block> process_wide_types() const;
    bool is_process_wide(const void* types) const noexcept;

    // Raise the flag from the first `raise` to the last `lower`. During that time, LLVM's parser writes to a copy
    // of it.
    void raise() noexcept;
    void lower() noexcept;
    // Repair the count in the child of a fork: `count` is the number of raises by the surviving thread.
    void raised_by(std::size_t count) noexcept;

    // Make threads outside contexts follow what has been set process-wide.
    void follow() noexcept;
    // While the returned lock is held, `process_wide_flag` is the address of the flag's process-wide value, even while
    // contexts have raised LLVM's flag.
    os::ForkSafeLock hold() noexcept;
    const void* process_wide_flag() const noexcept { return count_ > 0 ? &kept_ : flag_; }
    bool is_flag(std::uintptr_t address) const noexcept { return address == reinterpret_cast<std::uintptr_t>(flag_); }

private:
    void let_outside(bool print) noexcept;
    void begin() noexcept;
    void end() noexcept;
    void follow_held() noexcept;
    bool same_type(const std::uint8_t* a, const std::uint8_t* b) const noexcept;

    const std::uint32_t flag_slot_, debug_only_slot_, types_slot_;
    bool* const flag_;                      // llvm::DebugFlag
    bool*& option_flag_;                    // the pointer to the flag in the Option named debug
    image::RawManagedStatic& llvms_types_;  // llvm::CurrentDebugType
    const image::RawOption& debug_only_;    // the Option of that name, which adds to the list and raises the flag
    const std::size_t type_size_;
    const Abi abi_;
    // Threads outside contexts see the silent list, although the flag may since have been raised process-wide.
    std::atomic<bool> may_lag_{false};
    std::size_t count_ = 0;
    bool kept_ = false;        // process-wide value while the flag is raised
    std::uint16_t times_ = 0;  // occurrences of debug-only at the last check
    const void* nothing_[3];   // a std::vector with a single type that LLVM never asks for
    alignas(16) image::RawManagedStatic silent_{nothing_, nullptr, nullptr};
    alignas(16) image::RawManagedStatic outside_;
};

// Return the image's instance, or null.
Debugging* debugging(unsigned image) noexcept;
// Return the process-wide value if `address` is that of the debug flag of any image; otherwise nullopt.
std::optional<bool> process_wide_flag(std::uintptr_t address);
// Begin a call into an image: call `follow`, if it has debug output.
void follow_debugging(unsigned image) noexcept;

}  // namespace optctx::values

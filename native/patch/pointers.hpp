// Patches pointers in a library's constant data (virtual function tables): prepare, commit, undo. Patches all or none.
#pragma once

#include "os/fork_locks.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace optctx::patch {

struct PointerChange {
    std::uintptr_t at;  // aligned address of the pointer
    std::uintptr_t before;
    std::uintptr_t after;
};

// Other threads may read the pointers at the same time. Each pointer is one aligned word, so they read either the old
// or the new value.
class PointerTransaction {
public:
    // Checks that every pointer is aligned and has the expected value. Changes nothing.
    explicit PointerTransaction(std::vector<PointerChange> changes);
    PointerTransaction(const PointerTransaction&) = delete;
    PointerTransaction& operator=(const PointerTransaction&) = delete;

    // Changes every pointer, or throws os::OsError with nothing changed.
    void commit();
    // Restores the original pointers, or throws os::OsError with nothing changed.
    void undo();

    bool committed() const noexcept { return committed_; }
    std::size_t size() const noexcept { return changes_.size(); }

private:
    void write(std::uintptr_t PointerChange::* value) const;

    std::vector<PointerChange> changes_;  // by address
    bool committed_ = false;
};

// Pointers that several users want changed at once: changed for the first of them, restored after the last.
class SharedPointers {
public:
    explicit SharedPointers(std::vector<PointerChange> changes) : pointers_(std::move(changes)) {}

    // Each throws os::OsError with nothing changed.
    void use();
    void give_up();

    bool committed() const noexcept { return pointers_.committed(); }
    std::size_t size() const noexcept { return pointers_.size(); }

private:
    os::ForkSafeMutex mutex_{os::Rank::tables};
    PointerTransaction pointers_;
    std::size_t users_ = 0;  // guarded by mutex_
};

// Puts machine code into memory of its own. The memory is never freed: a thread may be executing it.
std::uintptr_t place_code(const std::vector<std::uint8_t>& code, std::uintptr_t near_begin, std::uintptr_t near_end);

}  // namespace optctx::patch

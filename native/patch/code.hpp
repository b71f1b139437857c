// Patches instructions of a running library: prepare, commit, undo. Patches all sites or none.
#pragma once

#include "arch/faults.hpp"
#include "arch/trampolines.hpp"
#include "os/fork_locks.hpp"
#include "os/os.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace optctx::patch {

// Held from the first changed byte to the last, so that fork waits: no thread in a child would finish the change.
inline auto& changing = *new os::ForkSafeMutex(os::Rank::code);

// Owns the trampolines of an image and the original bytes of its sites: where code is changed.
//
// Other threads may execute the code at the same time. Each site is one instruction, replaced by one jump at the same
// address, so no thread can be inside it. All sites change at once (os::Replacement).
class Transaction {
public:
    // Checks that memory holds the expected bytes and that no two sites overlap. Writes the trampolines near
    // [text_begin, text_end). Changes no code.
    Transaction(std::vector<arch::Change> changes, std::uintptr_t text_begin, std::uintptr_t text_end);
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    // Redirects every site, or throws and leaves every byte as it was.
    void commit();
    // Restores the original bytes, or throws with nothing changed. Trampolines stay mapped: a thread may still be
    // inside one.
    void undo();

    bool committed() const noexcept { return committed_; }
    std::size_t size() const noexcept { return sites_.size(); }
    std::size_t trampoline_bytes() const noexcept { return trampolines_.size(); }
    std::size_t pages() const noexcept;
    std::uintptr_t trampoline_of(std::uintptr_t site) const;

private:
    // The bytes of one instruction. Thousands of them live until the process ends, so they are stored inline.
    using Bytes = std::array<std::uint8_t, arch::longest_instruction>;
    struct Placed {
        std::uintptr_t end() const noexcept { return address + size; }

        std::uintptr_t address;
        std::uintptr_t trampoline;
        Bytes before;
        Bytes after;
        std::uint8_t size;  // of both
    };
    void write_trampolines(const std::vector<arch::Change>& changes);
    void check_bytes(Bytes Placed::* expected) const;
    void replace(Bytes Placed::* before, Bytes Placed::* after) const;

    std::vector<Placed> sites_;  // by address
    os::Mapping trampolines_;
    bool committed_ = false;
};

}  // namespace optctx::patch

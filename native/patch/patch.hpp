// Changes instructions of a running library: prepare, commit, undo. All sites or none.
#pragma once

#include "os/os.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace optctx::patch {

struct Site {
    std::uintptr_t address;            // of one whole instruction, at least 5 bytes long
    std::vector<std::uint8_t> before;  // its bytes
    std::vector<std::uint8_t> code;    // what is to run instead, without the jump back
};

// Owns the trampolines of an image and the bytes they replace.
//
// Other threads may run the code at the same time. Each site is one instruction, replaced by one jump with the same
// start, so no thread can be in the middle of it; all sites change at once (os::Replacement).
class Transaction {
public:
    // Checks that the bytes in memory are those expected and that no two sites overlap; writes the
    // trampolines near [text_begin, text_end). Changes no code.
    Transaction(std::vector<Site> sites, std::uintptr_t text_begin, std::uintptr_t text_end);
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    // Redirects every site, or throws and leaves every byte as it was. `fail_at` makes that step of
    // os::Replacement fail (tests).
    void commit(std::size_t fail_at = 0);
    // Puts the original bytes back, or throws with nothing changed. Trampolines stay mapped: a thread may still be in
    // one.
    void undo(std::size_t fail_at = 0);

    bool committed() const noexcept { return committed_; }
    std::size_t size() const noexcept { return sites_.size(); }
    std::size_t trampoline_bytes() const noexcept { return used_; }
    std::size_t pages() const noexcept;
    std::uintptr_t trampoline_of(std::uintptr_t site) const;

private:
    struct Placed {
        std::uintptr_t address;
        std::vector<std::uint8_t> before;
        std::vector<std::uint8_t> after;
        std::uintptr_t trampoline;
    };
    void check_overlap() const;
    void write_trampolines(const std::vector<Site>& sites);
    using Bytes = std::vector<std::uint8_t> Placed::*;
    void check_bytes(Bytes expected) const;
    void replace(Bytes before, Bytes after, std::size_t fail_at) const;

    std::vector<Placed> sites_;  // by address
    os::Mapping trampolines_;
    std::size_t used_ = 0;
    bool committed_ = false;
};

}  // namespace optctx::patch

// Detects the first instruction of each reader that executes. The reader's word points to unreadable memory
// (Layout::poison). The fault handler marks the reader and corrects both the word and the register that was loaded from
// it. Later reads cost nothing, and reads by other threads are unaffected.
#pragma once

#include "os/signals.hpp"
#include "views/layout.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace optctx::views {

// An instruction that dereferences a reader's word.
struct ReadingInstruction {
    std::uintptr_t address;
    std::uint32_t reader;
    unsigned base;  // number of the register that is loaded from the word
};

// Call once per image, before anything is poisoned. Later calls have no effect.
void prepare_poison(unsigned image, std::shared_ptr<const Layout> layout, std::vector<ReadingInstruction> instructions);

// Poison would not be handled on this thread.
struct UnwatchedError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws UnwatchedError if this thread blocks SIGSEGV, or if a handler of other code precedes that of poison.
void check_handled();

// While a PoisonHandler lives, poison is handled on every thread that passed `check_handled`.
class PoisonHandler {
public:
    PoisonHandler();  // as `check_handled` throws

private:
    os::FirstHandler first_;
};

// Runs before this thread calls into LLVM. If this thread's faults are no longer handled, because other code installed
// a handler over this one or the thread now blocks SIGSEGV, unpoison its view and notify the recorder and the reads.
void give_up_unhandled_poison() noexcept;

}  // namespace optctx::views

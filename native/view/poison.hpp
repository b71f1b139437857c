// How a thread is told of the first instruction of each reader that runs: the reader's word leads nowhere
// (Layout::poison). The fault is handled by marking the reader, and by giving the word, and the register that holds it
// already, their true value. Later reads cost nothing, and neither do those of other threads.
#pragma once

#include "os/signals.hpp"
#include "view/layout.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace optctx::view {

// An instruction that goes where a reader's word leads.
struct ReadingInstruction {
    std::uintptr_t address;
    std::uint8_t base;  // the register that holds what the word held, 0 (rax) to 15 (r15)
    std::uint32_t reader;
};

// Once for an image, before anything is poisoned; later calls change nothing.
void prepare_poison(unsigned image, std::shared_ptr<const Layout> layout, std::vector<ReadingInstruction> instructions);

// Nobody would handle poison on this thread.
struct UnwatchedError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Poison is handled while one of these lives, on every thread that passed `check`.
class PoisonHandler {
public:
    // Throws UnwatchedError if this thread blocks the signal, or where somebody else's handler comes first.
    PoisonHandler();
    void check() const;
    PoisonHandler(const PoisonHandler&) = delete;
    PoisonHandler& operator=(const PoisonHandler&) = delete;

private:
    os::FirstHandler first_;
};

// Before this thread calls into LLVM: if its faults are not handled any more, because somebody put a handler over the
// one here or the thread blocks the signal now, poison is taken away and what it was for is told so.
void give_up_unhandled_poison() noexcept;

}  // namespace optctx::view

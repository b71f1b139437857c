#include "views/poison.hpp"

#include "arch/faults.hpp"
#include "os/fork_locks.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

namespace optctx::views {
namespace {

// Read in a signal handler. Lives until the process ends.
struct Prepared {
    std::shared_ptr<const Layout> layout;
    std::vector<ReadingInstruction> instructions;  // by address
};

auto& mutex = *new os::ForkSafeMutex(os::Rank::readers);  // of all images; held while one is prepared
PerImage<std::atomic<const Prepared*>> prepared{};

const ReadingInstruction* find(const Prepared& of, std::uintptr_t address) noexcept {
    const auto found = std::ranges::lower_bound(of.instructions, address, {}, &ReadingInstruction::address);
    return found != of.instructions.end() && found->address == address ? &*found : nullptr;
}

bool handle(unsigned image, const Prepared& of, std::uintptr_t address, ucontext_t& context) noexcept {
    const Layout& layout = *of.layout;
    if (!layout.is_nowhere(address)) return false;
    const ReadingInstruction* instruction = find(of, arch::instruction_of(context));
    if (instruction == nullptr) return false;
    if (reinterpret_cast<void*>(arch::general_register(context, instruction->base)) != layout.nowhere()) return false;
    const View view = view_read(image);
    void* target = layout.target(view, instruction->reader);
    layout.word_of(view, instruction->reader) = target;
    arch::set_general_register(context, instruction->base, reinterpret_cast<std::uintptr_t>(target));
    if (Reads* reads = layout.reads(view)) reads->mark(instruction->reader);
    if (Substitute* recording = substitute(image)) recording->mark(instruction->reader);
    return true;
}

void check_unblocked() {
    if (os::is_blocked())
        throw UnwatchedError("this thread blocks SIGSEGV, by which it is told that an option is read");
}

// A process has one handler for a signal, so it asks every image.
bool on_fault(const siginfo_t& info, ucontext_t& context) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
    for (unsigned image = 0; image < max_images; ++image) {
        const Prepared* of = prepared[image].load(std::memory_order_acquire);
        if (of != nullptr && handle(image, *of, address, context)) return true;
    }
    return false;
}

}  // namespace

void prepare_poison(unsigned image, std::shared_ptr<const Layout> layout,
                    std::vector<ReadingInstruction> instructions) {
    const std::lock_guard lock(mutex);
    if (prepared.at(image).load() != nullptr) return;
    for (const ReadingInstruction& each : instructions)
        if (each.reader >= layout->readers().size() || each.base >= arch::general_registers)
            throw std::runtime_error("an instruction of no reader");
    std::ranges::sort(instructions, {}, &ReadingInstruction::address);
    prepared[image].store(new Prepared{std::move(layout), std::move(instructions)}, std::memory_order_release);
}

void give_up_unhandled_poison() noexcept {
    for (unsigned image = 0; image < max_images; ++image) {
        const Prepared* of = prepared[image].load(std::memory_order_acquire);
        if (of == nullptr) continue;
        const View view = view_read(image);
        Substitute* recording = substitute(image);
        Reads* reads = of->layout->reads(view);
        if (recording == nullptr && reads == nullptr) continue;
        try {
            return check_handled();
        } catch (const std::runtime_error&) {
        }
        of->layout->spread(view);
        if (reads != nullptr) reads->lose();
        if (recording != nullptr) recording->lose();
    }
}

PoisonHandler::PoisonHandler() try : first_(on_fault) { check_unblocked(); } catch (const std::runtime_error& error) {
    throw UnwatchedError(error.what());
}

void check_handled() {
    check_unblocked();
    try {
        os::check_asked_first();
    } catch (const std::runtime_error& error) {
        throw UnwatchedError(error.what());
    }
}

}  // namespace optctx::views

// Locks that the child of a fork never finds held by a thread that does not exist there (design/fork.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace optctx::os {

// The order in which a thread takes several locks, and in which fork takes all of them. A thread never takes a lock of
// a rank lower than or equal to one that it holds. A holder never needs the GIL: the forking thread may hold it while
// it waits.
enum class Rank : std::uint8_t {
    keys,         // addresses that threads have locked: LLVM's objects in use, its command line parser
    watchers,     // watchers of process-wide values
    code,         // changing LLVM's instructions and tables
    contexts,     // threads inside each context that marks its reads or prints debug output
    handlers,     // handlers of signals
    parsing,      // LLVM's parsers, on the options of a space
    storage,      // LLVM's own option storage
    debugging,    // LLVM's debug flag
    bindings,     // LLVMContexts and their bindings
    activations,  // idle activations
    copies,       // what each image copies for activations, and idle copies
    machines,     // TargetMachines and their idle variants
    triples,      // llvm::Triples that machines are made for
    orphans,      // references to be dropped
    readers,      // the instructions that poison makes fault
    symbols,      // the indexes of libraries' symbols
};

// A mutex that fork takes, so the child finds what it guards as a holder left it, never half-changed. Not recursive.
// But a thread may fork while it holds the mutex; the child then holds it too.
class ForkSafeMutex {
public:
    // Throws OsError if pthread_atfork fails.
    explicit ForkSafeMutex(Rank rank);
    ~ForkSafeMutex();

    void lock() {
        if (in_repair()) return;
        note_taken();
        mutex_.lock();
        owner_.store(this_thread(), std::memory_order_relaxed);
    }
    void unlock() {
        if (in_repair()) return;
        owner_.store(nullptr, std::memory_order_relaxed);
        note_given();
        mutex_.unlock();
    }

private:
    friend class ForkLocks;

    // An address unique to the thread.
    static const void* this_thread() noexcept { return __builtin_thread_pointer(); }
    // True in the child while the repairs run with every mutex held.
    static bool in_repair() noexcept { return repairing_.load(std::memory_order_relaxed); }

#ifdef OPTCTX_CHECK_RANKS
    // If the calling thread holds a lock of the same or a higher rank, prints the names of both locks and aborts.
    void note_taken() const noexcept;
    void note_given() const noexcept;
#else
    void note_taken() const noexcept {}
    void note_given() const noexcept {}
#endif

    static inline std::atomic<bool> repairing_{false};

    std::mutex mutex_;
    std::atomic<const void*> owner_{nullptr};
    const Rank rank_;
    bool held_by_fork_ = false;
};

using ForkSafeLock = std::unique_lock<ForkSafeMutex>;

// Runs `repair` in every child of fork, with all mutexes held, to correct counts of threads. Locking does nothing
// during that time.
bool repair_after_fork(void (*repair)() noexcept);

}  // namespace optctx::os

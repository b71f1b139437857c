// Locks that a child of fork never finds held by a thread that it does not have (design/fork.md).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace optctx::os {

// The order in which a thread takes locks when it holds several, and in which a fork takes all of them. A thread takes
// no lock of a lower or the same rank than one that it holds. A holder never needs the GIL: the thread that forks may
// have it while it waits.
enum class Rank : std::uint8_t {
    compiling,    // which objects of LLVM's are in use
    watchers,     // of process-wide values
    audits,       // whose block the audit is
    audit,        // starting and stopping an audit
    code,         // changing LLVM's instructions and tables
    turns,        // whose turn it is (view/turns.cpp)
    gate,         // who is inside LLVM (view/gate.cpp)
    changes,      // making and undoing process-wide changes
    contexts,     // threads inside each context that marks its reads or prints debug output
    handlers,     // signal handlers
    parsing,      // LLVM's parsers on the options of a space
    storage,      // LLVM's own storage of options
    debugging,    // LLVM's flag for debug output
    captures,     // idle views of captures
    bindings,     // LLVMContexts and what is bound to them
    activations,  // idle activations
    copies,       // idle storage of activations
    machines,     // TargetMachines and their idle variants
    abandoned,    // blocks that ended on other threads
    orphans,      // references to be given up
    readers,      // instructions behind reads that are marked
};

// A mutex that fork holds. The child finds what the mutex guards as a holder left it, never half-changed. Not
// recursive, but a thread may fork while it holds the mutex; the child then holds it as well.
class ForkSafeMutex {
public:
    // Throws OsError where the process cannot be told of forks.
    explicit ForkSafeMutex(Rank rank);
    ForkSafeMutex(const ForkSafeMutex&) = delete;
    ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;
    ~ForkSafeMutex();

    void lock() {
        if (in_repair()) return;
        check_rank();
        mutex_.lock();
        note_taken();
        owner_.store(this_thread(), std::memory_order_relaxed);
    }
    bool try_lock() {
        if (in_repair()) return true;
        if (!mutex_.try_lock()) return false;
        note_taken();
        owner_.store(this_thread(), std::memory_order_relaxed);
        return true;
    }
    void unlock() {
        if (in_repair()) return;
        owner_.store(nullptr, std::memory_order_relaxed);
        note_given();
        mutex_.unlock();
    }

private:
    friend class ForkLocks;

    // An address that no other thread has.
    static const void* this_thread() noexcept { return __builtin_thread_pointer(); }
    // In the child, where the repairs run with every mutex held.
    static bool in_repair() noexcept { return repairing_.load(std::memory_order_relaxed); }

#ifdef OPTCTX_CHECK_RANKS
    // Ends the process, naming both locks, if the calling thread holds one of the same or a higher rank.
    void check_rank() const noexcept;
    void note_taken() const noexcept;
    void note_given() const noexcept;
#else
    void check_rank() const noexcept {}
    void note_taken() const noexcept {}
    void note_given() const noexcept {}
#endif

    static inline std::atomic<bool> repairing_{false};

    std::mutex mutex_;
    std::atomic<const void*> owner_{nullptr};
    const Rank rank_;
    bool held_by_fork_ = false;
    ForkSafeMutex* next_ = nullptr;  // by rank; guarded by the mutex of the list
};

using ForkSafeLock = std::unique_lock<ForkSafeMutex>;

// A condition variable that counts notifications. std::condition_variable keeps a record of its waiters and waits for
// them, which in a child never come.
class ForkSafeCondition {
public:
    // Returns when `ready()`, which is called with the lock held, is true.
    template <class Ready>
    void wait(ForkSafeLock& lock, const Ready& ready) {
        while (!ready()) wait_once(lock, std::nullopt);
    }
    // Returns when it was notified, when the time is over, or earlier.
    void wait_for(ForkSafeLock& lock, std::chrono::nanoseconds time) { wait_once(lock, time); }
    // Call with the lock held.
    void notify_all() noexcept;

private:
    void wait_once(ForkSafeLock& lock, std::optional<std::chrono::nanoseconds> time);

    std::atomic<std::uint32_t> notified_{0};
    std::uint32_t waiters_ = 0;  // at most; guarded by the lock. In a child those of the parent are among them.
};

// Has `repair` called in every child of fork, with all mutexes held, so that counts of threads are right again. Locking
// is a no-op there. At most four, in the order in which they were given.
bool repair_after_fork(void (*repair)() noexcept);

}  // namespace optctx::os

#include "os/fork_locks.hpp"

#include "os/os.hpp"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace optctx::os {

// Every ForkSafeMutex of this process, and the fork handlers that take them.
class ForkLocks {
public:
    static ForkLocks& get() {
        static ForkLocks& all = *new ForkLocks;  // first called while the module loads; outlives every thread
        return all;
    }

    void enrol(ForkSafeMutex& mutex) {
        const std::lock_guard lock(mutex_);
        const auto rank = [](const ForkSafeMutex* each) { return each->rank_; };
        mutexes_.insert(std::ranges::upper_bound(mutexes_, mutex.rank_, {}, rank), &mutex);
    }

    void drop(ForkSafeMutex& mutex) noexcept {
        const std::lock_guard lock(mutex_);
        std::erase(mutexes_, &mutex);
    }

    void add(void (*repair)() noexcept) {
        const std::lock_guard lock(mutex_);
        repairs_.push_back(repair);
    }

private:
    ForkLocks() {
        if (const int failed = pthread_atfork(before, release, in_child); failed != 0)
            throw OsError("pthread_atfork", 0, failed);
    }

    static void before() {
        get().mutex_.lock();
        for (ForkSafeMutex* each : get().mutexes_) {
            // The forking thread itself holds the mutex if a signal handler forks.
            each->held_by_fork_ = each->owner_.load(std::memory_order_relaxed) != ForkSafeMutex::this_thread();
            if (each->held_by_fork_) each->mutex_.lock();
        }
    }

    static void release() {
        for (ForkSafeMutex* each : get().mutexes_)
            if (each->held_by_fork_) each->mutex_.unlock();
        get().mutex_.unlock();
    }

    static void in_child() {
        ForkSafeMutex::repairing_ = true;
        for (const auto& repair : get().repairs_) repair();
        ForkSafeMutex::repairing_ = false;
        release();
    }

    std::mutex mutex_;                     // of the lists; taken before all others
    std::vector<ForkSafeMutex*> mutexes_;  // by rank
    std::vector<void (*)() noexcept> repairs_;
};

#ifdef OPTCTX_CHECK_RANKS
namespace {

// In the order of Rank.
constexpr const char* names[] = {"keys",    "watchers",  "code",     "contexts",    "handlers", "parsing",
                                 "storage", "debugging", "bindings", "activations", "copies",   "machines",
                                 "triples", "orphans",   "readers",  "symbols"};

thread_local std::uint32_t held = 0;  // one bit for each rank: no thread holds two locks of the same rank

}  // namespace

void ForkSafeMutex::note_taken() const noexcept {
    const auto rank = static_cast<unsigned>(rank_);
    if (held >> rank == 0) {
        held |= std::uint32_t{1} << rank;
        return;
    }
    const auto highest = static_cast<std::size_t>(std::bit_width(held)) - 1;
    std::fprintf(stderr, "optctx: a thread that holds the lock '%s' takes the lock '%s', which comes before it\n",
                 names[highest], names[rank]);
    std::abort();
}

void ForkSafeMutex::note_given() const noexcept { held &= ~(std::uint32_t{1} << static_cast<unsigned>(rank_)); }
#endif

ForkSafeMutex::ForkSafeMutex(Rank rank) : rank_(rank) { ForkLocks::get().enrol(*this); }

ForkSafeMutex::~ForkSafeMutex() { ForkLocks::get().drop(*this); }

bool repair_after_fork(void (*repair)() noexcept) {
    ForkLocks::get().add(repair);
    return true;
}

}  // namespace optctx::os

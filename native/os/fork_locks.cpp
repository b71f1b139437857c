#include "os/fork_locks.hpp"

#include "os/os.hpp"

#include <pthread.h>

#include <array>
#include <stdexcept>

namespace optctx::os {

// Every ForkSafeMutex of this process, and what is done with them around a fork.
class ForkLocks {
public:
    static ForkLocks& get() {
        static ForkLocks& all = *new ForkLocks;  // first called while the module is loaded; outlives every thread
        return all;
    }

    void enrol(ForkSafeMutex& mutex) {
        const std::lock_guard lock(mutex_);
        ForkSafeMutex** at = &first_;
        while (*at != nullptr && (*at)->rank_ <= mutex.rank_) at = &(*at)->next_;
        mutex.next_ = *at;
        *at = &mutex;
    }

    void drop(ForkSafeMutex& mutex) noexcept {
        const std::lock_guard lock(mutex_);
        for (ForkSafeMutex** at = &first_; *at != nullptr; at = &(*at)->next_) {
            if (*at != &mutex) continue;
            *at = mutex.next_;
            return;
        }
    }

    void add(void (*repair)() noexcept) {
        const std::lock_guard lock(mutex_);
        for (auto& place : repairs_) {
            if (place != nullptr) continue;
            place = repair;
            return;
        }
        throw std::logic_error("no room for another repair after a fork");
    }

private:
    ForkLocks() {
        if (const int failed = pthread_atfork(before, in_parent, in_child); failed != 0)
            throw OsError("pthread_atfork", 0, failed);
    }

    void hold() {
        mutex_.lock();
        for (ForkSafeMutex* each = first_; each != nullptr; each = each->next_) {
            // Held by this very thread where a signal handler forks.
            each->held_by_fork_ = each->owner_.load(std::memory_order_relaxed) != ForkSafeMutex::this_thread();
            if (each->held_by_fork_) each->mutex_.lock();
        }
    }

    void release() {
        for (ForkSafeMutex* each = first_; each != nullptr; each = each->next_)
            if (each->held_by_fork_) each->mutex_.unlock();
        mutex_.unlock();
    }

    void run_repairs() noexcept {
        ForkSafeMutex::repairing_ = true;
        for (const auto& repair : repairs_)
            if (repair != nullptr) repair();
        ForkSafeMutex::repairing_ = false;
    }

    static void before() { get().hold(); }
    static void in_parent() { get().release(); }
    static void in_child() {
        get().run_repairs();
        get().release();
    }

    std::mutex mutex_;  // of the list; taken before all others
    ForkSafeMutex* first_ = nullptr;
    std::array<void (*)() noexcept, 4> repairs_{};
};

ForkSafeMutex::ForkSafeMutex(Rank rank) : rank_(rank) { ForkLocks::get().enrol(*this); }

ForkSafeMutex::~ForkSafeMutex() { ForkLocks::get().drop(*this); }

void ForkSafeCondition::wait_once(ForkSafeLock& lock, std::optional<std::chrono::nanoseconds> time) {
    const std::uint32_t seen = notified_.load();
    ++waiters_;
    lock.unlock();
    sleep_while(notified_, seen, time);
    lock.lock();
    --waiters_;
}

void ForkSafeCondition::notify_all() noexcept {
    notified_.fetch_add(1);
    if (waiters_ > 0) wake_all(notified_);
}

bool repair_after_fork(void (*repair)() noexcept) {
    ForkLocks::get().add(repair);
    return true;
}

}  // namespace optctx::os

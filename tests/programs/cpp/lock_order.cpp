// Takes native locks of the ranks that it is given, one inside another.
#include "os/fork_locks.hpp"

#include <cstdlib>
#include <deque>

using optctx::os::ForkSafeMutex;
using optctx::os::Rank;

int main(int count, char** ranks) {
    std::deque<ForkSafeMutex> mutexes;
    for (int i = 1; i < count; ++i) mutexes.emplace_back(static_cast<Rank>(std::atoi(ranks[i]))).lock();
    while (!mutexes.empty()) {
        mutexes.back().unlock();
        mutexes.pop_back();
    }
}

// Preloaded, it takes the place of `operator new`, which finds no memory on a thread that says so.
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local bool exhausted = false;

}  // namespace

extern "C" void exhaust(bool now) { exhausted = now; }

void* operator new(std::size_t size) {
    void* const memory = exhausted ? nullptr : std::malloc(size > 0 ? size : 1);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

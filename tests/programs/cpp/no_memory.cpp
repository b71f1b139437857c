// Preloaded, it takes the place of the `operator new` that optctx's native code uses, and finds no memory from some
// allocation of a thread on.
#include <cstdlib>
#include <new>

namespace {

thread_local int left = -1;  // allocations that still succeed; all of them if negative

}  // namespace

extern "C" void exhaust_after(int allocations) { left = allocations; }

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    if (left == 0) return nullptr;
    if (left > 0) --left;
    return std::malloc(size > 0 ? size : 1);
}

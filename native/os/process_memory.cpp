// The module's operator new and delete are those of the process, although the rest of its C++ runtime is its own
// (CMakeLists.txt): LLVM frees memory that the module allocates, and the module some of LLVM's
// (values/region_copy.cpp). A program may have replaced both.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace optctx::os {
namespace {

// A function of the process by its name, or `other` if it has none. It is looked up at the first use.
template <auto* other>
auto* of_process(const char* name) noexcept {
    static constinit std::atomic<decltype(other)> known{nullptr};
    auto* function = known.load(std::memory_order_relaxed);
    if (function != nullptr) return function;
    void* found = dlsym(RTLD_DEFAULT, name);
    function = found == nullptr ? other : reinterpret_cast<decltype(other)>(found);
    known.store(function, std::memory_order_relaxed);
    return function;
}

// The form that throws nothing: what the process's own runtime throws, this one may not catch.
void* allocate(std::size_t size, const std::nothrow_t&) { return std::malloc(size == 0 ? 1 : size); }
void release(void* memory) { std::free(memory); }

}  // namespace
}  // namespace optctx::os

void* operator new(std::size_t size) {
    void* memory = optctx::os::of_process<&optctx::os::allocate>("_ZnwmRKSt9nothrow_t")(size, std::nothrow);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void operator delete(void* memory) noexcept { optctx::os::of_process<&optctx::os::release>("_ZdlPv")(memory); }

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

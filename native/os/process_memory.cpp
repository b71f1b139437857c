// The module's operator new and delete are those of the process, although the rest of its C++ runtime is its own
// (CMakeLists.txt): LLVM frees memory that the module allocates, and the module some of LLVM's
// (values/region_copy.cpp). A program may have replaced both.
#include <dlfcn.h>

#include <cstdlib>
#include <new>

namespace optctx::os {
namespace {

template <class Function>
Function* of_process(const char* name, Function* other) noexcept {
    void* found = dlsym(RTLD_DEFAULT, name);
    return found == nullptr ? other : reinterpret_cast<Function*>(found);
}

// The form that throws nothing: what the process's own runtime throws, this one may not catch.
void* allocate(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }

}  // namespace
}  // namespace optctx::os

void* operator new(std::size_t size) {
    static const auto allocate = optctx::os::of_process("_ZnwmRKSt9nothrow_t", &optctx::os::allocate);
    void* memory = allocate(size, std::nothrow);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void operator delete(void* memory) noexcept {
    static const auto release = optctx::os::of_process("_ZdlPv", &std::free);
    release(memory);
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

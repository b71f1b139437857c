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
template <class Function>
class OfProcess {
public:
    constexpr OfProcess(const char* name, Function* other) noexcept : name_(name), other_(other) {}
    Function* get() noexcept {
        Function* function = found_.load(std::memory_order_relaxed);
        if (function != nullptr) return function;
        void* found = dlsym(RTLD_DEFAULT, name_);
        function = found == nullptr ? other_ : reinterpret_cast<Function*>(found);
        found_.store(function, std::memory_order_relaxed);
        return function;
    }

private:
    const char* name_;
    Function* other_;
    std::atomic<Function*> found_{nullptr};
};

// The form that throws nothing: what the process's own runtime throws, this one may not catch.
void* allocate(std::size_t size, const std::nothrow_t&) { return std::malloc(size == 0 ? 1 : size); }
void release(void* memory) { std::free(memory); }

constinit OfProcess<void*(std::size_t, const std::nothrow_t&)> new_of_process{"_ZnwmRKSt9nothrow_t", &allocate};
constinit OfProcess<void(void*)> delete_of_process{"_ZdlPv", &release};

}  // namespace
}  // namespace optctx::os

void* operator new(std::size_t size) {
    void* memory = optctx::os::new_of_process.get()(size, std::nothrow);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void operator delete(void* memory) noexcept { optctx::os::delete_of_process.get()(memory); }

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

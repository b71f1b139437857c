// Uses what native/os/older_system.* stand in for. `check` returns 0, or the number of what is wrong.
#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>

namespace {

int alive = 0;

struct Counted {
    Counted() { ++alive; }
    Counted(const Counted&) { ++alive; }
    ~Counted() { --alive; }
};

int exceptions() {
    for (int turn = 0; turn < 100; ++turn) {
        std::exception_ptr kept;
        try {
            throw Counted();
        } catch (...) {
            const std::exception_ptr first = std::current_exception();
            const std::exception_ptr second = first;
            kept = second;
        }
        if (alive != 1) return 1;
        try {
            std::rethrow_exception(kept);
        } catch (const Counted&) {
        }
        if (alive != 1) return 2;
        kept = nullptr;
        if (alive != 0) return 3;
    }
    return 0;
}

}  // namespace

extern "C" int check(const char* path, long size) {
    if (const int wrong = exceptions()) return wrong;
    try {
        volatile std::ptrdiff_t less_than_none = -1;
        delete[] new int[static_cast<std::size_t>(less_than_none)];
        return 4;
    } catch (const std::bad_array_new_length&) {
    }
    try {
        std::allocator<long> allocator;
        volatile std::size_t too_many = ~std::size_t{0};
        allocator.deallocate(allocator.allocate(too_many), too_many);
        return 5;
    } catch (const std::bad_array_new_length&) {
    }
    std::FILE* file = std::fopen(path, "rb");
    struct stat status{};
    if (file == nullptr || fstat(fileno(file), &status) != 0 || status.st_size != size) return 6;
    std::fclose(file);
    if (fstat(-1, &status) != -1) return 7;
    if (dlsym(RTLD_DEFAULT, "printf") == nullptr) return 8;
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&std::fopen), &info) == 0) return 9;
    sigset_t blocked;
    if (pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0) return 10;
    const auto one = std::make_shared<int>(1);
    const auto other = one;
    return other.use_count() == 2 ? 0 : 11;
}

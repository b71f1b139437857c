// Uses what native/os/older_system.* stand in for. `check` returns 0, or the number of what is wrong.
#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdio>
#include <memory>

extern "C" int check(const char* path, long size) {
    std::FILE* file = std::fopen(path, "rb");
    struct stat status{};
    if (file == nullptr || fstat(fileno(file), &status) != 0 || status.st_size != size) return 1;
    std::fclose(file);
    if (fstat(-1, &status) != -1) return 2;
    if (dlsym(RTLD_DEFAULT, "printf") == nullptr) return 3;
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&std::fopen), &info) == 0) return 4;
    sigset_t blocked;
    if (pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0) return 5;
    const auto one = std::make_shared<int>(1);
    const auto other = one;
    return other.use_count() == 2 ? 0 : 6;
}

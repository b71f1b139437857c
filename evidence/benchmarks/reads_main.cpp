// reads_main LIBRARY KIND LOOPS: loads evidence/benchmarks/reads.cpp as a program loads LLVM, and prints nanoseconds
// for a read.
#include <dlfcn.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int count, char** words) {
    if (count != 4) return 2;
    void* library = dlopen(words[1], RTLD_NOW);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    auto* run = reinterpret_cast<double (*)(const char*, std::uint64_t)>(dlsym(library, "run"));
    const double nanoseconds = run(words[2], std::strtoull(words[3], nullptr, 10));
    std::printf("%f\n", nanoseconds);
    return nanoseconds < 0 ? 1 : 0;
}

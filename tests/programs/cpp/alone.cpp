// A process of its own, into which it loads the libraries that are named; then it looks an option up.
#include <dlfcn.h>

#include <cstdio>
#include <optctx/optctx.hpp>

int main(int count, char** paths) {
    for (int i = 1; i < count; ++i)
        if (dlopen(paths[i], RTLD_NOW | RTLD_LOCAL) == nullptr) return 2;
    for (int attempt = 0; attempt < 2; ++attempt) {
        try {
            optctx::get<unsigned>("unroll-count");
            return 3;
        } catch (const optctx::Error& error) {
            if (error.status != OPTCTX_UNAVAILABLE) return 4;
            std::puts(error.what());
        }
    }
    return 0;
}

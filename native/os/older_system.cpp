// What newer systems' headers and libstdc++.a refer to, for a module that is loaded beside glibc 2.28
// (OPTCTX_PORTABLE). Each has the name that the linker looks for, and is hidden: nothing outside the module sees it.
#include <sys/syscall.h>
#include <unistd.h>

#define OPTCTX_IN_PLACE_OF(name) __asm__(name) __attribute__((visibility("hidden")))

extern "C" {

// From glibc 2.32 on it is true while the process has one thread. libstdc++ counts references without atomic
// instructions then, which is a matter of speed alone.
extern char optctx_is_single_threaded OPTCTX_IN_PLACE_OF("__libc_single_threaded");
char optctx_is_single_threaded = 0;

// Before glibc 2.33 a function of its headers. `struct stat` is the kernel's.
int optctx_fstat(int file, void* status) noexcept OPTCTX_IN_PLACE_OF("fstat");
int optctx_fstat(int file, void* status) noexcept { return static_cast<int>(syscall(SYS_fstat, file, status)); }

}  // extern "C"

// What the headers of newer systems refer to, for a module that is loaded beside glibc 2.28 and the libstdc++ of GCC 8
// (OPTCTX_PORTABLE). Each has the name that the linker looks for, and is hidden: nothing outside the module sees it.
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#define OPTCTX_IN_PLACE_OF(name) __asm__(name) __attribute__((visibility("hidden")))

extern "C" {

// From glibc 2.32 on it is true while the process has one thread. libstdc++ counts references without atomic
// instructions then, which is a matter of speed alone.
extern char optctx_is_single_threaded OPTCTX_IN_PLACE_OF("__libc_single_threaded");
char optctx_is_single_threaded = 0;

// Before glibc 2.33 a function of its headers. `struct stat` is the kernel's.
int optctx_fstat(int file, void* status) noexcept OPTCTX_IN_PLACE_OF("fstat");
int optctx_fstat(int file, void* status) noexcept { return static_cast<int>(syscall(SYS_fstat, file, status)); }

// From GCC 11 on (std::__throw_bad_array_new_length).
[[noreturn]] void optctx_throw_bad_array_new_length() OPTCTX_IN_PLACE_OF("_ZSt28__throw_bad_array_new_lengthv");
void optctx_throw_bad_array_new_length() { throw std::bad_array_new_length(); }

// exception_ptr holds one pointer. Its copies and its destructor are in headers from GCC 11 on, and call _M_addref and
// _M_release. What libstdc++.so.6 has had outside headers is exception_ptr(void*), since GCC 7, which counts a
// reference, and the destructor of nested_exception, since GCC 4.6, which gives up the one of its only member.
void optctx_exception_ptr(void** pointer, void* exception) noexcept
    __asm__("_ZNSt15__exception_ptr13exception_ptrC1EPv");
void optctx_destroy_nested_exception(void** nested) noexcept __asm__("_ZNSt16nested_exceptionD1Ev");

void optctx_add_reference(void** pointer) noexcept
    OPTCTX_IN_PLACE_OF("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void optctx_add_reference(void** pointer) noexcept {
    void* counted = nullptr;  // never destroyed, so that its reference stays
    optctx_exception_ptr(&counted, *pointer);
}

void optctx_release(void** pointer) noexcept OPTCTX_IN_PLACE_OF("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void optctx_release(void** pointer) noexcept {
    void* nested[] = {nullptr, *pointer};  // its table of virtual functions, which the destructor sets, and its member
    optctx_destroy_nested_exception(nested);
    *pointer = nullptr;  // as _M_release does
}

}  // extern "C"

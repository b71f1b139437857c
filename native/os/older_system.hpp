// Included in every file, nanobind's too, where OPTCTX_PORTABLE is set. glibc 2.34 gave functions that moved into
// libc.so.6 a second version, and 2.32 another to pthread_sigmask; both ends of each are the same code. Asking for the
// first version, a module that was linked beside a newer glibc is loaded by 2.28.
#pragma once

__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask, pthread_sigmask@GLIBC_2.2.5");
// Of nanobind, for interpreters without the GIL.
__asm__(".symver pthread_key_create, pthread_key_create@GLIBC_2.2.5");
__asm__(".symver pthread_key_delete, pthread_key_delete@GLIBC_2.2.5");
__asm__(".symver pthread_getspecific, pthread_getspecific@GLIBC_2.2.5");
__asm__(".symver pthread_setspecific, pthread_setspecific@GLIBC_2.2.5");

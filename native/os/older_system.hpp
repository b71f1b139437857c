// Included in every file where OPTCTX_PORTABLE is set. glibc 2.34 gave functions that moved into libc.so.6 a second
// version, and 2.32 another to pthread_sigmask; both ends of each are the same code. Asking for the first version, a
// module that was linked beside a newer glibc is loaded by 2.28.
#pragma once

__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask, pthread_sigmask@GLIBC_2.2.5");

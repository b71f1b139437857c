// The cost of the call alone.
extern "C" __attribute__((noinline)) int readOption() {
    __asm__ volatile("");
    return 1;
}

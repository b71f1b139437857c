// Calls readOption: bench WHERE ROUNDS CALLS prints the nanoseconds of a call in the fastest round. WHERE is `outside`
// every scope or, with CONTEXT, `inside` one that has a value for the option.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "llvm/Support/CommandLine.h"

extern "C" int readOption();

static void measure(int Rounds, int Calls, int Expected) {
    // The compiler must not see which function it is.
    int (*volatile Indirect)() = readOption;
    int (*Call)() = Indirect;
    double Best = 1e9;
    for (int Round = 0; Round != Rounds; ++Round) {
        auto Start = std::chrono::steady_clock::now();
        int64_t Sum = 0;
        for (int I = 0; I != Calls; ++I) Sum += Call();
        double Took = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - Start).count();
        if (Sum != int64_t(Expected) * Calls) {
            std::fprintf(stderr, "bench: a read gave a wrong value\n");
            std::exit(1);
        }
        Best = std::min(Best, Took / Calls);
    }
    std::printf("%.3f\n", Best);
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    int Rounds = std::atoi(argv[2]), Calls = std::atoi(argv[3]);
    if (!std::strcmp(argv[1], "outside")) {
        measure(Rounds, Calls, 1);
        return 0;
    }
#ifdef CONTEXT
    llvm::cl::OptionContext C;
    if (!C.parse({"-bench-option=2"}, llvm::errs())) return 1;
    llvm::cl::OptionContextScope Scope(C);
    measure(Rounds, Calls, 2);
    return 0;
#else
    return 2;
#endif
}

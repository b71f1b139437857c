// A read of an option. Compiled once with stock headers and several times with patched ones, with the access to
// thread-local storage that the name of the object says.
#include "llvm/Support/CommandLine.h"

static llvm::cl::opt<int> Option("bench-option", llvm::cl::init(1));

extern "C" __attribute__((noinline)) int readOption() { return Option; }

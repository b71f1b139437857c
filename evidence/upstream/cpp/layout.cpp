// Compiled with stock and with patched headers: prints sizes and offsets, which must be the same, so that objects
// compiled with either can be linked together.
#include <cstdio>
#include <optional>
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ThreadPool.h"

using namespace llvm;

enum Choice { First, Second };

template <class T>
void print(const char* Name) {
    // Where the storage lies is seen from where the default is, and from the size.
    std::printf("%s %zu %zu\n", Name, sizeof(T), alignof(T));
}

template <class T>
void printDefault(const char* Name) {
    alignas(T) static char Room[sizeof(T)];
    T& O = *reinterpret_cast<T*>(Room);
    std::printf("%s default %td callback %td parser %td\n", Name, reinterpret_cast<char*>(&O.Default) - Room,
                reinterpret_cast<char*>(&O.Callback) - Room, reinterpret_cast<char*>(&O.getParser()) - Room);
}

int main() {
    print<cl::Option>("Option");
    print<cl::opt<bool>>("opt<bool>");
    print<cl::opt<char>>("opt<char>");
    print<cl::opt<unsigned>>("opt<unsigned>");
    print<cl::opt<double>>("opt<double>");
    print<cl::opt<Choice>>("opt<enum>");
    print<cl::opt<std::string>>("opt<std::string>");
    print<cl::opt<bool, true>>("opt<bool, true>");
    print<cl::opt<std::string, true>>("opt<std::string, true>");
    print<cl::list<std::string>>("list<std::string>");
    print<cl::list<unsigned, std::vector<unsigned>>>("list<unsigned, vector>");
    print<cl::bits<Choice>>("bits<enum>");
    print<cl::bits<Choice, unsigned>>("bits<enum, unsigned>");
    print<cl::alias>("alias");
    print<LLVMContext>("LLVMContext");
    print<DefaultThreadPool>("DefaultThreadPool");
    printDefault<cl::opt<bool>>("opt<bool>");
    printDefault<cl::opt<unsigned>>("opt<unsigned>");
    printDefault<cl::opt<Choice>>("opt<enum>");
    printDefault<cl::opt<std::string>>("opt<std::string>");
}

// Scopes of the prototype for callers without C++: what evidence/strategies/source.py calls.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/OptionContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace {

struct Entered {
    cl::OptionContext Context;
    std::optional<cl::OptionContextScope> Scope;
};

void copy(const std::string& Text, char* To, size_t Size) {
    std::strncpy(To, Text.c_str(), Size - 1);
    To[Size - 1] = 0;
}

}  // namespace

// Enters a scope with these options on the calling thread. Returns null, and says why, if one is refused.
extern "C" Entered* optctx_prototype_enter(const char* const* Words, size_t Count, char* Said, size_t Size) {
    auto Made = std::make_unique<Entered>();
    std::string Why;
    raw_string_ostream OS(Why);
    SmallVector<StringRef> Args(Words, Words + Count);
    if (!Made->Context.parse(Args, OS)) {
        copy(Why, Said, Size);
        return nullptr;
    }
    Made->Scope.emplace(Made->Context);
    return Made.release();
}

// Leaves the innermost scope of the calling thread.
extern "C" void optctx_prototype_leave(Entered* Made) { delete Made; }

// Names of options that have occurrences for the process. Call it outside scopes.
extern "C" void optctx_prototype_given(char* Names, size_t Size) {
    std::string Found;
    for (const auto& Entry : cl::getRegisteredOptions())
        if (Entry.second->getNumOccurrences()) Found += (Entry.first() + " ").str();
    copy(Found, Names, Size);
}

// The prototype for callers without C++: what evidence/strategies/source.py and evidence/upstream/proof.py call.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/OptionContext.h"
#include "llvm/Support/ThreadPool.h"
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

// Binds the values of the calling thread's scope to an LLVMContext.
extern "C" void optctx_prototype_bind(LLVMContextRef To) { unwrap(To)->setOptionContext(cl::OptionContext::active()); }

// A thread pool of LLVM's: made, given work by a thread in a scope, and waited for, which ends it.
extern "C" DefaultThreadPool* optctx_prototype_pool() { return new DefaultThreadPool(hardware_concurrency(2)); }
extern "C" void optctx_prototype_queue(DefaultThreadPool* Pool, void (*Work)()) { Pool->async(Work); }
extern "C" void optctx_prototype_wait(DefaultThreadPool* Pool) { delete Pool; }

// Names of options that have occurrences for the process. Call it outside scopes.
extern "C" void optctx_prototype_given(char* Names, size_t Size) {
    std::string Found;
    for (const auto& Entry : cl::getRegisteredOptions())
        if (Entry.second->getNumOccurrences()) Found += (Entry.first() + " ").str();
    copy(Found, Names, Size);
}

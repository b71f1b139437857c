// A library that is linked with an LLVM that users build, and compiles with it on threads of its own, each in a scope;
// for tests/optctx/libllvm/test_libllvm_cpp.py. No Python.
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <optctx/optctx.hpp>

#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

const optctx::Image own{reinterpret_cast<const void*>(&LLVMRunPasses)};

std::string compile(const char* ir, const char* passes) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, std::strlen(ir), "module");
    LLVMModuleRef module = nullptr;
    char* words = nullptr;
    if (LLVMParseIRInContext(context, buffer, &module, &words) != 0) return words;
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    std::string text;
    if (LLVMErrorRef error = LLVMRunPasses(module, passes, nullptr, options)) {
        text = LLVMGetErrorMessage(error);
    } else {
        char* printed = LLVMPrintModuleToString(module);
        text = printed;
        LLVMDisposeMessage(printed);
    }
    LLVMDisposePassBuilderOptions(options);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return text;
}

}  // namespace

// Hands over what each of the counts gives, and what there is outside of any scope after it, each on a thread.
extern "C" const char* compile_on_threads(const char* ir, const char* passes, const unsigned* counts, unsigned size,
                                          void (*take)(unsigned count, const char* inside, const char* outside)) {
    static std::string error;
    error.clear();
    std::vector<std::string> inside(size), outside(size), errors(size);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < size; ++i)
        threads.emplace_back([&, i] {
            try {
                {
                    const optctx::Scope scope{{{"unroll-count", counts[i]}}, own};
                    if (optctx::get<unsigned>("unroll-count", own) != counts[i]) errors[i] = "another value";
                    inside[i] = compile(ir, passes);
                }
                outside[i] = compile(ir, passes);
            } catch (const optctx::Error& caught) {
                errors[i] = caught.what();
            }
        });
    for (std::thread& each : threads) each.join();
    for (unsigned i = 0; i < size; ++i) {
        error += errors[i];
        take(counts[i], inside[i].c_str(), outside[i].c_str());
    }
    return error.c_str();
}

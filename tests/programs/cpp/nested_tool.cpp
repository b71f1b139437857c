// A tool that runs in the process of its caller, written for a process of its own as linkers and compilers are: it
// resets all options of LLVM, parses its own command line, works, and resets all options again.
#include <pthread.h>

#include <cstddef>
#include <cstring>
#include <mutex>

extern "C" {
void* LLVMPY_ContextCreate();
void LLVMPY_ContextDispose(void*);
void* LLVMPY_ParseAssembly(void* context, const char* text, const char** message);
void LLVMPY_PrintModuleToString(void* module, const char** text);
void LLVMPY_DisposeModule(void*);
void LLVMPY_DisposeString(const char*);
void* LLVMPY_CreatePipelineTuningOptions();
void LLVMPY_DisposePipelineTuningOptions(void*);
void* LLVMPY_CreatePassBuilder(void* machine, void* tuning);
void LLVMPY_DisposePassBuilder(void*);
void* LLVMPY_buildPerModuleDefaultPipeline(void* builder, int speed);
void LLVMPY_RunNewModulePassManager(void* manager, void* module, void* builder);
void LLVMPY_DisposeNewModulePassManger(void*);
}

namespace {

struct StringRef {
    const char* data;
    std::size_t size;
};

// Functions of LLVM that libllvmlite does not export.
struct Parser {
    void (*reset)();
    bool (*parse)(int, const char* const*, StringRef overview, void* errors, void* files, const char* variable,
                  bool long_with_two_dashes);
};

// llvmlite calls setlocale to print. The C library does not protect setlocale's lock from fork: a child of a fork
// beside it would hang in its next setlocale, without optctx as well.
std::mutex printing;

void print(void* module, const char** text) {
    static const int protected_from_fork =
        pthread_atfork([] { printing.lock(); }, [] { printing.unlock(); }, [] { printing.unlock(); });
    if (protected_from_fork != 0) return;
    const std::lock_guard lock(printing);
    LLVMPY_PrintModuleToString(module, text);
}

std::size_t optimize(const char* ir, char* out, std::size_t room) {
    void* context = LLVMPY_ContextCreate();
    const char* text = nullptr;
    void* module = LLVMPY_ParseAssembly(context, ir, &text);
    if (module == nullptr) return 0;
    void* tuning = LLVMPY_CreatePipelineTuningOptions();
    void* builder = LLVMPY_CreatePassBuilder(nullptr, tuning);
    void* manager = LLVMPY_buildPerModuleDefaultPipeline(builder, 3);
    LLVMPY_RunNewModulePassManager(manager, module, builder);
    text = nullptr;
    print(module, &text);
    const std::size_t size = text == nullptr ? room : std::strlen(text);
    if (size < room) std::memcpy(out, text, size + 1);
    if (text != nullptr) LLVMPY_DisposeString(text);
    LLVMPY_DisposeNewModulePassManger(manager);
    LLVMPY_DisposePassBuilder(builder);
    LLVMPY_DisposePipelineTuningOptions(tuning);
    LLVMPY_DisposeModule(module);
    LLVMPY_ContextDispose(context);
    return size < room ? size : 0;
}

}  // namespace

// Writes the optimised module to `out`. Returns its size in bytes, 0 for a failure.
extern "C" std::size_t run_tool(const Parser* llvm, int count, const char* const* arguments, const char* ir, char* out,
                                std::size_t room) {
    llvm->reset();
    if (!llvm->parse(count, arguments, {"", 0}, nullptr, nullptr, nullptr, false)) return 0;
    const std::size_t size = optimize(ir, out, room);
    llvm->reset();
    return size;
}

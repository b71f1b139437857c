// Runs a pass pipeline over a module in several threads of one process, each with options of its own, as often as
// asked, and writes what each thread got: threads MODE REPEAT INPUT PASSES {-- OUTPUT OPTION...}... For PASSES `emit`
// the legacy pass manager emits assembly, as llc does.
//
// MODE says how a thread gets its options: `scope` enters them, `bound` binds them to its LLVMContext, `pool` enters
// them while it queues the work to two workers of an LLVM thread pool.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace {

void initialiseTargets() {
    InitializeAllTargets();
    InitializeAllTargetMCs();
    InitializeAllAsmPrinters();
    InitializeAllAsmParsers();
}

std::unique_ptr<TargetMachine> machineFor(const Module& M) {
    std::string Ignored;
    const Target* T = TargetRegistry::lookupTarget(M.getTargetTriple(), Ignored);
    if (M.getTargetTriple().empty() || !T) return nullptr;
    TargetOptions Options;
    Options.MCOptions.AsmVerbose = Options.MCOptions.PreserveAsmComments = true;
    return std::unique_ptr<TargetMachine>(T->createTargetMachine(M.getTargetTriple(), "", "", Options, std::nullopt));
}

std::string emit(Module& M, TargetMachine* Machine, std::string& Error) {
    legacy::PassManager Manager;
    SmallString<0> Text;
    raw_svector_ostream OS(Text);
    if (!Machine || Machine->addPassesToEmitFile(Manager, OS, nullptr, CodeGenFileType::AssemblyFile)) {
        Error = "no assembly for '" + M.getTargetTriple() + "'";
        return "";
    }
    Manager.run(M);
    return Text.str().str();
}

// For PASSES `emit` the legacy pass manager emits assembly, as llc does; else as opt does it, from reading the input to
// printing the module.
std::string optimise(StringRef Input, StringRef Passes, const cl::OptionContext* Bound, std::string& Error) {
    LLVMContext Context;
    Context.setOptionContext(Bound);
    SMDiagnostic Problem;
    std::unique_ptr<Module> M = parseIRFile(Input, Problem, Context);
    if (!M) {
        Error = ("cannot read " + Input + ": " + Problem.getMessage()).str();
        return "";
    }
    if (Passes == "emit" && M->getTargetTriple().empty()) M->setTargetTriple(sys::getDefaultTargetTriple());
    std::unique_ptr<TargetMachine> Machine = machineFor(*M);
    if (Machine && M->getDataLayoutStr().empty()) M->setDataLayout(Machine->createDataLayout());
    if (Passes == "emit") return emit(*M, Machine.get(), Error);
    LoopAnalysisManager LAM;
    FunctionAnalysisManager FAM;
    CGSCCAnalysisManager CGAM;
    ModuleAnalysisManager MAM;
    PassBuilder Builder(Machine.get());
    Builder.registerModuleAnalyses(MAM);
    Builder.registerCGSCCAnalyses(CGAM);
    Builder.registerFunctionAnalyses(FAM);
    Builder.registerLoopAnalyses(LAM);
    Builder.crossRegisterProxies(LAM, FAM, CGAM, MAM);
    ModulePassManager Manager;
    if (auto Failed = Builder.parsePassPipeline(Manager, Passes)) {
        Error = toString(std::move(Failed));
        return "";
    }
    Manager.run(*M, MAM);
    std::string Text;
    raw_string_ostream OS(Text);
    M->print(OS, nullptr);
    return Text;
}

struct Work {
    std::string Output;
    std::vector<StringRef> Options;
    cl::OptionContext Context;
    std::string Text;
    std::string Error;
};

void repeat(Work& W, unsigned Times, StringRef Input, StringRef Passes, const cl::OptionContext* Bound) {
    for (unsigned I = 0; I != Times && W.Error.empty(); ++I) {
        std::string Text = optimise(Input, Passes, Bound, W.Error);
        if (I && Text != W.Text) W.Error = "two runs with the same options gave different modules";
        W.Text = std::move(Text);
    }
}

void runAll(std::vector<Work>& All, StringRef Mode, unsigned Times, StringRef Input, StringRef Passes) {
    if (Mode == "pool") {
        DefaultThreadPool Pool(hardware_concurrency(2));
        for (Work& W : All) {
            cl::OptionContextScope Scope(W.Context);
            Pool.async([&W, Times, Input, Passes] { repeat(W, Times, Input, Passes, nullptr); });
        }
        Pool.wait();
        return;
    }
    std::vector<std::thread> Threads;
    std::atomic<size_t> Ready{0};
    for (Work& W : All)
        Threads.emplace_back([&, Times, Input, Passes] {
            // Together, so that different values are in use at the same time.
            for (++Ready; Ready < All.size();) std::this_thread::yield();
            if (Mode == "bound") return repeat(W, Times, Input, Passes, &W.Context);
            cl::OptionContextScope Scope(W.Context);
            repeat(W, Times, Input, Passes, nullptr);
        });
    for (std::thread& T : Threads) T.join();
}

int fail(const Twine& Text) {
    errs() << "threads: " << Text << "\n";
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<StringRef> Args(argv + 1, argv + argc);
    unsigned Times;
    if (Args.size() < 6 || Args[1].getAsInteger(10, Times) || Args[4] != "--")
        return fail("usage: threads scope|bound|pool REPEAT INPUT PASSES {-- OUTPUT OPTION...}...");
    if (Args[0] != "scope" && Args[0] != "bound" && Args[0] != "pool") return fail("no such mode: " + Args[0]);
    initialiseTargets();
    std::vector<Work> All;
    for (size_t I = 4; I != Args.size(); ++I)
        if (Args[I] == "--") {
            if (++I == Args.size()) return fail("no output after '--'");
            All.emplace_back().Output = Args[I].str();
        } else {
            All.back().Options.push_back(Args[I]);
        }
    for (Work& W : All) {
        std::string Error;
        raw_string_ostream OS(Error);
        if (!W.Context.parse(W.Options, OS)) return fail(Error);
    }
    runAll(All, Args[0], Times, Args[2], Args[3]);
    for (Work& W : All) {
        if (!W.Error.empty()) return fail(W.Error);
        std::error_code Problem;
        raw_fd_ostream OS(W.Output, Problem);
        if (Problem) return fail(W.Output + ": " + Problem.message());
        OS << W.Text;
    }
    return 0;
}

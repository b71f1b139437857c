// Compiles a file in this process, as the tools of LLVM do in theirs.
#pragma once

#include <memory>
#include <string>
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

inline void initialiseTargets() {
    InitializeAllTargets();
    InitializeAllTargetMCs();
    InitializeAllAsmPrinters();
    InitializeAllAsmParsers();
}

inline std::unique_ptr<TargetMachine> machineFor(const Module& M) {
    std::string Ignored;
    const Target* T = TargetRegistry::lookupTarget(M.getTargetTriple(), Ignored);
    if (M.getTargetTriple().empty() || !T) return nullptr;
    TargetOptions Options;
    Options.MCOptions.AsmVerbose = Options.MCOptions.PreserveAsmComments = true;
    return std::unique_ptr<TargetMachine>(T->createTargetMachine(M.getTargetTriple(), "", "", Options, std::nullopt));
}

inline std::string emit(Module& M, TargetMachine* Machine, std::string& Error) {
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
inline std::string optimise(StringRef Input, StringRef Passes, const cl::OptionContext* Bound, std::string& Error) {
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

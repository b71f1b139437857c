"""Where LLVM starts to work on a module or a function: the functions to intercept.

From LLVM's headers (llvm/IR/PassManager.h, llvm/IR/LegacyPassManagers.h, llvm-c/TargetMachine.h): which
argument is the module or function, counted with the hidden first argument of a class that is returned.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from optctx._native import Skip, Subject
from optctx.image.facts.fact import Fact, Family, named

__all__ = ["RUNS", "Run"]


class Run(NamedTuple):
    """One function or family: what it works on, how it can be skipped.

    `needed`: an image without it cannot be intercepted. One without another lacks what that belongs to.
    `for_attributes`: always inside another one, so that only the attributes of functions need it.
    """

    fact: Fact[None] | Family
    subject: Subject
    argument: int  # index of the subject among the integer arguments
    skip: Skip = Skip.never
    caller: str = ""  # not empty: only where a function whose name starts with this calls it
    needed: bool = True
    for_attributes: bool = False


def _manager(of: str, unit: str) -> Fact[None]:
    # PreservedAnalyses PassManager<IR>::run(IR &, AnalysisManager<IR> &): {result, this, IR, analyses}
    symbol = f"_ZN4llvm11PassManagerINS_{unit}ENS_15AnalysisManagerIS1_JEEEJEE3runERS1_RS3_"
    return named(f"llvm::PassManager<{of}>::run", symbol)


RUNS: Final = (
    Run(_manager("Module", "6Module"), Subject.module, 2, Skip.empty_manager),
    Run(_manager("Function", "8Function"), Subject.function, 2, Skip.empty_manager),
    # The same, virtual, for every function pass: what runs a function's passes one by one.
    Run(
        Family(
            "llvm::detail::PassModel<Function>::run", "_ZN4llvm6detail9PassModelINS_8FunctionE", "3runERS2_R"
        ),
        Subject.function,
        2,
        for_attributes=True,
    ),
    # bool run(IR &): {this, IR}
    Run(
        named("llvm::legacy::PassManager::run", "_ZN4llvm6legacy11PassManager3runERNS_6ModuleE"),
        Subject.module,
        1,
        Skip.return_zero,
    ),
    Run(
        named(
            "llvm::legacy::FunctionPassManager::run",
            "_ZN4llvm6legacy19FunctionPassManager3runERNS_8FunctionE",
        ),
        Subject.function,
        1,
        Skip.return_zero,
    ),
    Run(
        named("llvm::FPPassManager::runOnFunction", "_ZN4llvm13FPPassManager13runOnFunctionERNS_8FunctionE"),
        Subject.function,
        1,
        Skip.return_zero,
    ),
    # LLVMBool LLVMTargetMachineEmit(T, M, stream, kind, char **message)
    Run(
        named(
            "LLVMTargetMachineEmit",
            "_ZL21LLVMTargetMachineEmitP23LLVMOpaqueTargetMachineP16LLVMOpaqueModuleRN4llvm17"
            "raw_pwrite_streamE19LLVMCodeGenFileTypePPc",
        ),
        Subject.module,
        1,
        Skip.fail_with_text,
        needed=False,
    ),
    # void MCJIT::generateCodeForModule(Module *): {this, module}
    Run(
        named("llvm::MCJIT::generateCodeForModule", "_ZN4llvm5MCJIT21generateCodeForModuleEPNS_6ModuleE"),
        Subject.module,
        1,
        Skip.leave_unfinished,
        needed=False,
    ),
    # void MCJIT::finalizeLoadedModules(): {this}; it takes for granted that code was generated
    Run(
        named("llvm::MCJIT::finalizeLoadedModules", "_ZN4llvm5MCJIT21finalizeLoadedModulesEv"),
        Subject.unfinished,
        0,
        Skip.return_zero,
        needed=False,
    ),
    # Expected<...> SimpleCompiler::operator()(Module &): {result, this, module}; its pass manager is skipped
    Run(
        named("llvm::orc::SimpleCompiler::operator()", "_ZN4llvm3orc14SimpleCompilerclERNS_6ModuleE"),
        Subject.module,
        2,
        needed=False,
    ),
    Run(
        named("the destructor of llvm::LLVMContext", "_ZN4llvm11LLVMContextD1Ev"),
        Subject.llvm_context_that_ends,
        0,
    ),
    # std::make_unique<LLVMContext>(): only llvmlite's LLVMPY_LLJIT_Link calls it, for each text it parses
    Run(
        named("the constructor of llvm::LLVMContext", "_ZN4llvm11LLVMContextC1Ev"),
        Subject.llvm_context_that_begins,
        0,
        caller="_ZSt11make_uniqueIN4llvm11LLVMContextEJEE",
        needed=False,
    ),
)

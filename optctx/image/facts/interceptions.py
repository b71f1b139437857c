"""The functions of LLVM that optctx stands in front of, each with what happens there: one table.

From LLVM's headers (llvm/IR/PassManager.h, llvm/IR/LegacyPassManagers.h, llvm-c/TargetMachine.h,
llvm/Target/TargetMachine.h): which argument is the module, function or machine, counted with the hidden first
argument of a class that is returned. Then the facts that each feature needs, beside giving contexts their
values.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from optctx._native import MachineUse, ParserFunction, Skip, Subject
from optctx.image.facts.fact import Fact, Family, named
from optctx.image.facts.machines import CONSTRUCTOR, CREATE_DATA_LAYOUT, DESTRUCTOR, RESET_TARGET_OPTIONS
from optctx.image.facts.mangled_names import (
    COMPILING,
    CURRENT_DEBUG_TYPES,
    DEBUG_FLAG,
    END_STREAM,
    INTERCEPTING,
    IS_DEBUG_TYPE,
    MAKE_STREAM,
    METADATA,
    PARSE_OPTIONS,
    PRINT_PASS_NAMES,
    RESET_OPTIONS,
    RESET_PARSER,
)
from optctx.image.loaded import Image

BINDING: Final = "contexts bound to LLVMContexts"
SHARED_MACHINES: Final = "target machines shared by contexts"


class Work(NamedTuple):
    """LLVM works on a subject (native/intercept/runs.hpp); how it can be skipped."""

    subject: Subject
    skip: Skip = Skip.never


class Interception(NamedTuple):
    """One function or family, and what happens there. A parser's function is intercepted where it starts,
    whatever calls it; every other one where it is called, and in tables of virtual functions.

    `argument`: index of what the handler is about, among the integer arguments; or the sizes in words of all
    parameters up to that, if not each is one word. `feature`: what is not to be
    had without it; empty where only that is lost which the function itself does. `caller`: only where a
    function whose name starts with this calls it. `for_attributes`: it always runs inside another one, so
    that only the attributes of functions need it. `part_of`: the function that consists of little else, and
    whose own calls of it do not count: compilers put that one into its callers.
    """

    what: Fact[Any] | Family
    handler: Work | MachineUse | ParserFunction
    argument: int | tuple[int, ...] = 0
    feature: str = ""
    caller: str = ""
    for_attributes: bool = False
    part_of: Fact[Any] | None = None


def _work(
    what: Fact[Any] | Family, subject: Subject, argument: int, skip: Skip = Skip.never, **more: Any
) -> Interception:
    return Interception(what, Work(subject, skip), argument, **more)


def _manager(of: str, unit: str) -> Fact[None]:
    # PreservedAnalyses PassManager<IR>::run(IR &, AnalysisManager<IR> &): {result, this, IR, analyses}
    symbol = f"_ZN4llvm11PassManagerINS_{unit}ENS_15AnalysisManagerIS1_JEEEJEE3runERS1_RS3_"
    return named(f"llvm::PassManager<{of}>::run", symbol)


def _machine(what: Family, handler: MachineUse, argument: int | tuple[int, ...] = 0) -> Interception:
    return Interception(what, handler, argument, SHARED_MACHINES)


def _parser(what: Fact[Any], handler: ParserFunction) -> Interception:
    return Interception(what, handler, feature=f"{what.what} inside a scope")


_LEGACY_RUN = named("llvm::legacy::PassManager::run", "_ZN4llvm6legacy11PassManager3runERNS_6ModuleE")
_END_OF_CONTEXT = named("the destructor of llvm::LLVMContext", "_ZN4llvm11LLVMContextD1Ev")
_WORK = (
    _work(_manager("Module", "6Module"), Subject.module, 2, Skip.empty_manager, feature=BINDING),
    _work(_manager("Function", "8Function"), Subject.function, 2, Skip.empty_manager, feature=BINDING),
    # The same, virtual, for every function pass: what runs a function's passes one by one.
    _work(
        Family(
            "llvm::detail::PassModel<Function>::run", "_ZN4llvm6detail9PassModelINS_8FunctionE", "3runERS2_R"
        ),
        Subject.function,
        2,
        feature=BINDING,
        for_attributes=True,
    ),
    # bool run(IR &): {this, IR}
    _work(_LEGACY_RUN, Subject.module, 1, Skip.return_zero, feature=BINDING),
    _work(
        named("llvm::legacy::PassManagerImpl::run", "_ZN4llvm6legacy15PassManagerImpl3runERNS_6ModuleE"),
        Subject.module,
        1,
        Skip.return_zero,
        part_of=_LEGACY_RUN,
    ),
    _work(
        named(
            "llvm::legacy::FunctionPassManager::run",
            "_ZN4llvm6legacy19FunctionPassManager3runERNS_8FunctionE",
        ),
        Subject.function,
        1,
        Skip.return_zero,
        feature=BINDING,
    ),
    _work(
        named("llvm::FPPassManager::runOnFunction", "_ZN4llvm13FPPassManager13runOnFunctionERNS_8FunctionE"),
        Subject.function,
        1,
        Skip.return_zero,
        feature=BINDING,
    ),
    # LLVMBool LLVMTargetMachineEmit(T, M, stream, kind, char **message)
    _work(
        named(
            "LLVMTargetMachineEmit",
            "_ZL21LLVMTargetMachineEmitP23LLVMOpaqueTargetMachineP16LLVMOpaqueModuleRN4llvm17"
            "raw_pwrite_streamE19LLVMCodeGenFileTypePPc",
        ),
        Subject.module,
        1,
        Skip.fail_with_text,
    ),
    # void MCJIT::generateCodeForModule(Module *): {this, module}
    _work(
        named("llvm::MCJIT::generateCodeForModule", "_ZN4llvm5MCJIT21generateCodeForModuleEPNS_6ModuleE"),
        Subject.module,
        1,
        Skip.leave_unfinished,
    ),
    # void MCJIT::finalizeLoadedModules(): {this}; it takes for granted that code was generated
    _work(
        named("llvm::MCJIT::finalizeLoadedModules", "_ZN4llvm5MCJIT21finalizeLoadedModulesEv"),
        Subject.unfinished,
        0,
        Skip.return_zero,
    ),
    # Expected<...> SimpleCompiler::operator()(Module &): {result, this, module}; its pass manager is skipped
    _work(
        named("llvm::orc::SimpleCompiler::operator()", "_ZN4llvm3orc14SimpleCompilerclERNS_6ModuleE"),
        Subject.module,
        2,
    ),
    _work(_END_OF_CONTEXT, Subject.llvm_context_that_ends, 0, feature=BINDING),
    _work(
        named("the destructor of llvm::LLVMContextImpl", "_ZN4llvm15LLVMContextImplD2Ev"),
        Subject.contents_that_end,
        0,
        part_of=_END_OF_CONTEXT,
    ),
)

# Virtual functions of every target first: what is built from option values is reached through them.
_MACHINES = (
    _machine(
        Family("TargetMachine::getSubtargetImpl", "_ZNK4llvm", "16getSubtargetImplERKNS_8FunctionE"),
        MachineUse.work,
    ),
    _machine(
        Family(
            "TargetMachine::getTargetTransformInfo", "_ZNK4llvm", "22getTargetTransformInfoERKNS_8FunctionE"
        ),
        MachineUse.work,
        1,
    ),
    _machine(
        Family(
            "TargetMachine::addPassesToEmitFile",
            "_ZN4llvm",
            "19addPassesToEmitFileERNS_6legacy15PassManagerBaseE",
        ),
        MachineUse.emit,
    ),
    _machine(
        Family(
            "TargetMachine::addPassesToEmitMC",
            "_ZN4llvm",
            "17addPassesToEmitMCERNS_6legacy15PassManagerBaseE",
        ),
        MachineUse.emit,
    ),
    _machine(
        Family("TargetMachine::getObjFileLowering", "_ZNK4llvm", "TargetMachine18getObjFileLoweringEv"),
        MachineUse.lowering,
    ),
    # TargetMachine(const Target &, StringRef layout, const Triple &, StringRef CPU, StringRef features,
    # const TargetOptions &): {this, target, layout, triple, CPU, features, options}
    _machine(
        Family("the constructor of TargetMachine", CONSTRUCTOR), MachineUse.begin, (1, 1, 2, 1, 2, 2, 1)
    ),
    _machine(Family("the destructor of TargetMachine", DESTRUCTOR), MachineUse.end),
    Interception(
        Family("TargetMachine::resetTargetOptions", RESET_TARGET_OPTIONS), MachineUse.reset_options
    ),  # until LLVM 22
    # It returns a class that options may change: a run of its own, for the machine in force.
    Interception(CREATE_DATA_LAYOUT, Work(Subject.machine), 1),
)

_PARSER = (
    _parser(PARSE_OPTIONS, ParserFunction.parse),
    _parser(RESET_OPTIONS, ParserFunction.reset),
    _parser(RESET_PARSER, ParserFunction.reset),
)

INTERCEPTIONS: Final = (*_WORK, *_MACHINES, *_PARSER)


DEBUG_OUTPUT: Final = "debug output for one thread"
_FEATURES: Final[dict[str, tuple[Fact[Any] | Family, ...]]] = {
    BINDING: (*(row.what for row in INTERCEPTIONS if row.feature == BINDING), *INTERCEPTING),
    DEBUG_OUTPUT: (DEBUG_FLAG, CURRENT_DEBUG_TYPES, IS_DEBUG_TYPE),
    "compiling without llvmlite's lock": tuple(COMPILING.values()),
    "stamps in modules": tuple(METADATA.values()),
    "names of passes": (PRINT_PASS_NAMES, MAKE_STREAM, END_STREAM),
    "fresh processes": (PARSE_OPTIONS,),
}


def why_missing(image: Image, feature: str) -> str:
    """Say which facts of a feature the image lacks; empty if it has them all."""
    return image.findings.lacking(_FEATURES[feature])


def missing_features(image: Image) -> dict[str, str]:
    """Map each feature that the image cannot have to the facts that it lacks."""
    reasons = {feature: why_missing(image, feature) for feature in _FEATURES}
    return {feature: reason for feature, reason in reasons.items() if reason}

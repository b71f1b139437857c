"""Where LLVM starts to work on a module or a function: the functions to intercept, and all ways into them.

Facts from LLVM's headers (22.1: llvm/IR/PassManager.h, llvm/IR/LegacyPassManagers.h, llvm-c/TargetMachine.h):
which argument is the module or function, counted with the hidden first argument of a class that is returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optctx._native import Image, Skip, Span, Subject, find_data_pointers
from optctx.arch import processor

__all__ = ["Entrance", "Intercepted", "Ways", "find_entrances", "find_ways"]


@dataclass(frozen=True)
class Intercepted:
    """A function of LLVM: its mangled name, what it works on, how it can be skipped."""

    name: str
    subject: Subject
    argument: int  # index of the subject among the integer arguments
    skip: Skip = Skip.never
    infix: str = ""  # not empty: every function whose name starts with `name` and holds this
    caller: str = ""  # not empty: only where a function whose name starts with this calls it


_RUN = "_ZN4llvm11PassManagerINS_{0}ENS_15AnalysisManagerIS1_JEEEJEE3runERS1_RS3_"
_INTERCEPTED = (
    # PreservedAnalyses PassManager<IR>::run(IR &, AnalysisManager<IR> &): {result, this, IR, analyses}
    Intercepted(_RUN.format("6Module"), Subject.module, 2, Skip.empty_manager),
    Intercepted(_RUN.format("8Function"), Subject.function, 2, Skip.empty_manager),
    # The same, virtual, for every function pass: what runs a function's passes one by one.
    Intercepted(
        "_ZN4llvm6detail9PassModelINS_8FunctionE", Subject.function, 2, Skip.never, infix="3runERS2_R"
    ),
    # bool run(IR &): {this, IR}
    Intercepted("_ZN4llvm6legacy11PassManager3runERNS_6ModuleE", Subject.module, 1, Skip.return_zero),
    Intercepted(
        "_ZN4llvm6legacy19FunctionPassManager3runERNS_8FunctionE", Subject.function, 1, Skip.return_zero
    ),
    Intercepted(
        "_ZN4llvm13FPPassManager13runOnFunctionERNS_8FunctionE", Subject.function, 1, Skip.return_zero
    ),
    # LLVMBool LLVMTargetMachineEmit(T, M, stream, kind, char **message)
    Intercepted(
        "_ZL21LLVMTargetMachineEmitP23LLVMOpaqueTargetMachineP16LLVMOpaqueModuleRN4llvm17raw_pwrite_streamE"
        "19LLVMCodeGenFileTypePPc",
        Subject.module,
        1,
        Skip.fail_with_text,
    ),
    # void MCJIT::generateCodeForModule(Module *): {this, module}
    Intercepted(
        "_ZN4llvm5MCJIT21generateCodeForModuleEPNS_6ModuleE", Subject.module, 1, Skip.leave_unfinished
    ),
    # void MCJIT::finalizeLoadedModules(): {this}; it takes for granted that code was generated
    Intercepted("_ZN4llvm5MCJIT21finalizeLoadedModulesEv", Subject.unfinished, 0, Skip.return_zero),
    # Expected<...> SimpleCompiler::operator()(Module &): {result, this, module}; its pass manager is skipped
    Intercepted("_ZN4llvm3orc14SimpleCompilerclERNS_6ModuleE", Subject.module, 2),
    Intercepted("_ZN4llvm11LLVMContextD1Ev", Subject.llvm_context_that_ends, 0),
    # std::make_unique<LLVMContext>(): only llvmlite's LLVMPY_LLJIT_Link calls it, for each text it parses
    Intercepted(
        "_ZN4llvm11LLVMContextC1Ev",
        Subject.llvm_context_that_begins,
        0,
        caller="_ZSt11make_uniqueIN4llvm11LLVMContextEJEE",
    ),
)


@dataclass(frozen=True)
class Entrance:
    """One way in: a direct call or jump at `address`, or a pointer in a table of virtual functions."""

    address: int
    target: int
    code: bytes = b""  # empty: a pointer
    is_jump: bool = False  # a tail call: nothing returns here


@dataclass(frozen=True)
class Ways:
    """`intercepted` by address of the function; `missing`: names that the image lacks."""

    intercepted: dict[int, Intercepted]
    missing: list[str]

    def callers(self) -> dict[int, str]:
        """For each address, how the names of the functions start whose calls count."""
        return {address: function.caller for address, function in self.intercepted.items()}


def find_ways(image: Image) -> Ways:
    """Every function to intercept."""
    intercepted: dict[int, Intercepted] = {}
    missing = []
    for function in _INTERCEPTED:
        places = _places(image, function)
        intercepted.update(dict.fromkeys(places, function))
        if not places:
            missing.append(function.name)
    return Ways(intercepted, missing)


def find_entrances(image: Image, targets: Mapping[int, str]) -> list[Entrance]:
    """Every direct call, tail call and table entry that leads to one of the `targets` (address -> caller).

    Of the calls only those count that stand in functions whose names start with the caller.
    """
    spans = [Span(address, 1) for address in sorted(targets)]
    pointers = [Entrance(at, target) for at, target in find_data_pointers(image, spans)]
    branches = (Entrance(*branch) for branch in processor().find_branches(image, targets))
    return [*branches, *pointers]


def _places(image: Image, function: Intercepted) -> list[int]:
    if not function.infix:
        address = image.symbol(function.name)
        return [] if address is None else [address]
    return [symbol.address for symbol in image.functions_named(function.name, function.infix)]

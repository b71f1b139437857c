"""LLVM's TargetMachine in an image: the functions that work with one, and what another one is made with.

A machine keeps what it built from option values, so LLVM is given another one wherever the values in force
are not those that the machine was made under (native/machine).
"""

from __future__ import annotations

from dataclasses import dataclass

from optctx._native import Image, MachineUse

__all__ = ["MachineFunction", "find_machine_functions", "machine_calls"]


@dataclass(frozen=True)
class MachineFunction:
    """Functions of LLVM: how the mangled name starts, what it holds, and which argument is the machine."""

    prefix: str
    infix: str
    use: MachineUse
    argument: int = 0  # counted with the hidden first argument of a class that is returned


_CREATED = "ERKNS_6TargetENS_9StringRefERKNS_6TripleES4_S4_RKNS_13TargetOptionsE"
_CONSTRUCTOR = f"_ZN4llvm13TargetMachineC1{_CREATED}"
_DESTRUCTOR = "_ZN4llvm13TargetMachineD1Ev"
_RESET_OPTIONS = "_ZNK4llvm13TargetMachine18resetTargetOptionsERKNS_8FunctionE"

# Virtual functions of every target first: what is built from option values is reached through them.
_FUNCTIONS = (
    MachineFunction("_ZNK4llvm", "16getSubtargetImplERKNS_8FunctionE", MachineUse.work),
    MachineFunction("_ZNK4llvm", "22getTargetTransformInfoERKNS_8FunctionE", MachineUse.work, 1),
    MachineFunction("_ZN4llvm", "19addPassesToEmitFileERNS_6legacy15PassManagerBaseE", MachineUse.emit),
    MachineFunction("_ZN4llvm", "17addPassesToEmitMCERNS_6legacy15PassManagerBaseE", MachineUse.emit),
    MachineFunction("_ZNK4llvm", "TargetMachine18getObjFileLoweringEv", MachineUse.lowering),
    MachineFunction(_CONSTRUCTOR, "", MachineUse.begin),
    MachineFunction(_DESTRUCTOR, "", MachineUse.end),
    MachineFunction(_RESET_OPTIONS, "", MachineUse.reset_options),
    MachineFunction("_ZNK4llvm13TargetMachine16createDataLayoutEv", "", MachineUse.layout, 1),
)
# In the order of LlvmCalls in native/machine/llvm.hpp.
_CALLS = (
    "_ZNK4llvm6Target19createTargetMachineERKNS_6TripleENS_9StringRefES4_RKNS_13TargetOptionsE"
    "St8optionalINS_5Reloc5ModelEES8_INS_9CodeModel5ModelEENS_15CodeGenOptLevelEb",
    "LLVMDisposeTargetMachine",
    _CONSTRUCTOR,
    _DESTRUCTOR,
    "LLVMGetTargetMachineTarget",
    "_ZNK4llvm13TargetMachine15getTargetTripleEv",
    "_ZNK4llvm13TargetMachine12getTargetCPUEv",
    "LLVMGetTargetMachineFeatureString",
    "_ZNK4llvm13TargetMachine18getRelocationModelEv",
    "_ZNK4llvm13TargetMachine12getCodeModelEv",
    "_ZNK4llvm13TargetMachine11getOptLevelEv",
    "_ZN4llvm13TargetOptionsC1Ev",
    "_ZN4llvm13TargetOptionsC1ERKS0_",
    "_ZN4llvm13TargetOptionsD1Ev",
    _RESET_OPTIONS,
    "LLVMSetTargetMachineAsmVerbosity",
    "LLVMSetTargetMachineFastISel",
    "LLVMSetTargetMachineGlobalISel",
    "LLVMSetTargetMachineGlobalISelAbort",
    "LLVMSetTargetMachineMachineOutliner",
)


def find_machine_functions(image: Image) -> tuple[dict[int, MachineFunction], list[str]]:
    """The functions to intercept by address, and what the image has none of."""
    found: dict[int, MachineFunction] = {}
    missing = []
    for function in _FUNCTIONS:
        places = [symbol.address for symbol in image.functions_named(function.prefix, function.infix)]
        found.update(dict.fromkeys(places, function))
        if not places:
            missing.append(function.infix or function.prefix)
    return found, missing


def machine_calls(image: Image) -> tuple[list[int], list[str]]:
    """The addresses of the functions that machines are made and changed with, and names that are missing."""
    found = {name: image.symbol(name) for name in _CALLS}
    return [address for address in found.values() if address], [n for n, a in found.items() if a is None]

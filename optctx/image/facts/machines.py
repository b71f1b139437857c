"""LLVM's TargetMachine: the functions that another one is made with, and what is made for a whole one."""

from __future__ import annotations

from typing import Final

from optctx.image.facts.fact import Family, exported, named

CONSTRUCTOR: Final = (
    "_ZN4llvm13TargetMachineC1ERKNS_6TargetENS_9StringRefERKNS_6TripleES4_S4_RKNS_13TargetOptionsE"
)
_OF_TARGET: Final = (
    "ERKNS_6TargetENS_9StringRefERKNS_6TripleES4_S4_RKNS_13TargetOptionsENS_5Reloc5ModelENS_9CodeModel5ModelE"
    "NS_15CodeGenOptLevelE"
)
DESTRUCTOR: Final = "_ZN4llvm13TargetMachineD1Ev"
RESET_TARGET_OPTIONS: Final = "_ZNK4llvm13TargetMachine18resetTargetOptionsERKNS_8FunctionE"

# Inline in LLVM's header: an optimised build may have no such function. Then every machine in use must
# have the layout of the one that it stands for, which LLVM-C tells.
CREATE_DATA_LAYOUT: Final = Family(
    "TargetMachine::createDataLayout", "_ZNK4llvm13TargetMachine16createDataLayoutEv"
)
LAYOUT_CALLS: Final = {
    "create_layout": exported("LLVMCreateTargetDataLayout"),
    "layout_text": exported("LLVMCopyStringRepOfTargetData"),
    "dispose_layout": exported("LLVMDisposeTargetData"),
}

# Functions that make the machines of one target each; an llvm::Target has a pointer to its own.
MAKERS: Final = Family(
    "llvm::RegisterTargetMachine::Allocator", "_ZN4llvm21RegisterTargetMachineI", "9AllocatorERKNS_6TargetE"
)
# By the names that LlvmCalls in native/intercept/machine_copies.hpp has for them.
CALLS: Final = {
    "dispose": exported("LLVMDisposeTargetMachine"),
    "construct": named("the constructor of llvm::TargetMachine", CONSTRUCTOR),
    "destroy": named("the destructor of llvm::TargetMachine", DESTRUCTOR),
    # The class that every target's derives from: the second name until LLVM 19.
    "construct_target": named(
        "the constructor of llvm::CodeGenTargetMachineImpl",
        *(f"_ZN4llvm{name}C2{_OF_TARGET}" for name in ("24CodeGenTargetMachineImpl", "17LLVMTargetMachine")),
    ),
    "make_triple": named("the constructor of llvm::Triple", "_ZN4llvm6TripleC1ERKNS_5TwineE"),
    "first_target": exported("LLVMGetFirstTarget"),
    "next_target": exported("LLVMGetNextTarget"),
    "target": exported("LLVMGetTargetMachineTarget"),
    "triple": exported("LLVMGetTargetMachineTriple"),
    "cpu": exported("LLVMGetTargetMachineCPU"),
    "features": exported("LLVMGetTargetMachineFeatureString"),
    "set_verbosity": exported("LLVMSetTargetMachineAsmVerbosity"),
    # These set what the code generator also sets.
    "set_fast_isel": exported("LLVMSetTargetMachineFastISel"),
    "set_global_isel": exported("LLVMSetTargetMachineGlobalISel"),
    "set_global_isel_abort": exported("LLVMSetTargetMachineGlobalISelAbort"),
    "set_machine_outliner": exported("LLVMSetTargetMachineMachineOutliner"),
}

# What an LLVM may lack. Without the first, machines made before attaching are not used inside scopes.
OPTIONAL_CALLS: Final = {
    "default_options": named(
        "the constructor of llvm::TargetOptions",
        *(f"_ZN4llvm13TargetOptionsC{kind}Ev" for kind in (1, 2)),
    ),
    "reset_options": named("llvm::TargetMachine::resetTargetOptions", RESET_TARGET_OPTIONS),
}

# Constructors of machines and of their assembly information, and what makes parts that a module has one of.
FOR_WHOLE_MACHINE: Final = (
    r"(TargetMachine(Impl)?|MCAsmInfo\w*)C[12]E|create\w*(MCSubtargetInfo|MCAsmInfo|AsmBackend)E"
)

"""LLVM's TargetMachine: the functions that another one is made with, and what is made for a whole one."""

from __future__ import annotations

from typing import Final

from optctx.image.facts.fact import Fact, named

CONSTRUCTOR: Final = (
    "_ZN4llvm13TargetMachineC1ERKNS_6TargetENS_9StringRefERKNS_6TripleES4_S4_RKNS_13TargetOptionsE"
)
DESTRUCTOR: Final = "_ZN4llvm13TargetMachineD1Ev"
RESET_TARGET_OPTIONS: Final = "_ZNK4llvm13TargetMachine18resetTargetOptionsERKNS_8FunctionE"

# How the triple is passed: an llvm::Triple since LLVM 21, its text before that.
_MODELS = "St8optionalINS_5Reloc5ModelEES{0}_INS_9CodeModel5ModelEENS_15CodeGenOptLevelEb"
CREATE: Final = Fact(
    "llvm::Target::createTargetMachine",
    (
        (
            "_ZNK4llvm6Target19createTargetMachineERKNS_6TripleENS_9StringRefES4_RKNS_13TargetOptionsE"
            + _MODELS.format(8),
            "triple",
        ),
        (
            "_ZNK4llvm6Target19createTargetMachineENS_9StringRefES1_S1_RKNS_13TargetOptionsE"
            + _MODELS.format(5),
            "text",
        ),
    ),
)
# By the names that LlvmCalls in native/intercept/machine_copies.hpp has for them, as it has
# create_by_triple or _text.
CALLS: Final = {
    "dispose": named("LLVMDisposeTargetMachine", "LLVMDisposeTargetMachine"),
    "construct": named("the constructor of llvm::TargetMachine", CONSTRUCTOR),
    "destroy": named("the destructor of llvm::TargetMachine", DESTRUCTOR),
    "target": named("LLVMGetTargetMachineTarget", "LLVMGetTargetMachineTarget"),
    "triple": named("llvm::TargetMachine::getTargetTriple", "_ZNK4llvm13TargetMachine15getTargetTripleEv"),
    "triple_text": named("LLVMGetTargetMachineTriple", "LLVMGetTargetMachineTriple"),
    "cpu": named("llvm::TargetMachine::getTargetCPU", "_ZNK4llvm13TargetMachine12getTargetCPUEv"),
    "features": named("LLVMGetTargetMachineFeatureString", "LLVMGetTargetMachineFeatureString"),
    "reloc_model": named(
        "llvm::TargetMachine::getRelocationModel", "_ZNK4llvm13TargetMachine18getRelocationModelEv"
    ),
    "code_model": named("llvm::TargetMachine::getCodeModel", "_ZNK4llvm13TargetMachine12getCodeModelEv"),
    "opt_level": named("llvm::TargetMachine::getOptLevel", "_ZNK4llvm13TargetMachine11getOptLevelEv"),
    "default_options": named("the constructor of llvm::TargetOptions", "_ZN4llvm13TargetOptionsC1Ev"),
    "copy_options": named("the copy constructor of llvm::TargetOptions", "_ZN4llvm13TargetOptionsC1ERKS0_"),
    "destroy_options": named("the destructor of llvm::TargetOptions", "_ZN4llvm13TargetOptionsD1Ev"),
    "reset_options": named("llvm::TargetMachine::resetTargetOptions", RESET_TARGET_OPTIONS),
    "set_verbosity": named("LLVMSetTargetMachineAsmVerbosity", "LLVMSetTargetMachineAsmVerbosity"),
    # These set what the code generator also sets.
    "set_fast_isel": named("LLVMSetTargetMachineFastISel", "LLVMSetTargetMachineFastISel"),
    "set_global_isel": named("LLVMSetTargetMachineGlobalISel", "LLVMSetTargetMachineGlobalISel"),
    "set_global_isel_abort": named(
        "LLVMSetTargetMachineGlobalISelAbort", "LLVMSetTargetMachineGlobalISelAbort"
    ),
    "set_machine_outliner": named(
        "LLVMSetTargetMachineMachineOutliner", "LLVMSetTargetMachineMachineOutliner"
    ),
}

# Constructors of machines and of their assembly information, and what makes parts that a module has one of.
FOR_WHOLE_MACHINE: Final = (
    r"(TargetMachine(Impl)?|MCAsmInfo\w*)C[12]E|create\w*(MCSubtargetInfo|MCAsmInfo|AsmBackend)E"
)

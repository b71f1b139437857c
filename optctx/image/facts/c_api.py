"""Functions of C that optctx calls: LLVM's own C API, which llvmlite does not export, and llvmlite's."""

from __future__ import annotations

from typing import Final

from optctx.image.facts.fact import Fact, named
from optctx.image.facts.names import DIAGNOSTIC_CALLBACK, INSTRUCTION_COUNT, PARSE_PIPELINE

__all__ = ["COMPILING", "INTERCEPTING", "LLVMLITE", "METADATA", "MODULE_CONTEXT"]


def _plain(*symbols: str) -> dict[str, Fact[None]]:
    return {symbol: named(symbol, symbol) for symbol in symbols}


_MODULE_CONTEXT = "LLVMGetModuleContext"
MODULE_CONTEXT: Final = named(_MODULE_CONTEXT, _MODULE_CONTEXT)

# In the order of LlvmCalls in native/bind/runs.hpp.
INTERCEPTING: Final = tuple(
    _plain(
        _MODULE_CONTEXT,
        "LLVMGetFirstFunction",
        "LLVMGetNextFunction",
        "LLVMGetGlobalParent",
        "LLVMGetStringAttributeAtIndex",
        "LLVMGetStringAttributeValue",
        "LLVMGetTarget",
        "LLVMGetTargetMachineTriple",
    ).values()
)

METADATA: Final = {
    **_plain(
        _MODULE_CONTEXT,
        "LLVMGetModuleIdentifier",
        "LLVMGetSourceFileName",
        "LLVMGetNamedMetadata",
        "LLVMGetNamedMetadataNumOperands",
        "LLVMGetNamedMetadataOperands",
        "LLVMAddNamedMetadataOperand",
        "LLVMAddModuleFlag",
        "LLVMIsAMDNode",
        "LLVMIsAMDString",
        "LLVMGetMDNodeNumOperands",
        "LLVMGetMDNodeOperands",
        "LLVMGetMDString",
        "LLVMMDStringInContext2",
        "LLVMMDNodeInContext2",
        "LLVMMetadataAsValue",
    ),
    "clear": named("llvm::NamedMDNode::clearOperands", "_ZN4llvm11NamedMDNode13clearOperandsEv"),
}

# What native/compile/llvm.hpp calls these functions, and what the library does.
COMPILING: Final = {
    "parse_pipeline": PARSE_PIPELINE,
    "set_diagnostic_handler": DIAGNOSTIC_CALLBACK,
    "instruction_count": INSTRUCTION_COUNT,
    **{
        name: named(symbol, symbol)
        for name, symbol in (
            ("error_message", "LLVMGetErrorMessage"),
            ("dispose_error_message", "LLVMDisposeErrorMessage"),
            ("diagnostic_handler", "LLVMContextGetDiagnosticHandler"),
            ("diagnostic_severity", "LLVMGetDiagInfoSeverity"),
            ("diagnostic_description", "LLVMGetDiagInfoDescription"),
            ("dispose_message", "LLVMDisposeMessage"),
        )
    },
}

# The same of llvmlite's own functions, which its library exports.
LLVMLITE: Final = {
    "create_tuning": "LLVMPY_CreatePipelineTuningOptions",
    "dispose_tuning": "LLVMPY_DisposePipelineTuningOptions",
    "create_pass_builder": "LLVMPY_CreatePassBuilder",
    "dispose_pass_builder": "LLVMPY_DisposePassBuilder",
    "create_pass_manager": "LLVMPY_CreateNewModulePassManager",
    "run_pass_manager": "LLVMPY_RunNewModulePassManager",
    "dispose_pass_manager": "LLVMPY_DisposeNewModulePassManger",  # the library's own spelling
    "emit_to_memory": "LLVMPY_TargetMachineEmitToMemory",
    "buffer_start": "LLVMPY_GetBufferStart",
    "buffer_size": "LLVMPY_GetBufferSize",
    "dispose_buffer": "LLVMPY_DisposeMemoryBuffer",
    "dispose_string": "LLVMPY_DisposeString",
}

"""The library functions that compiling needs, with prototypes of their own.

llvmlite's `ffi.lib` takes one process-wide lock around every call, so nothing here goes through it: a
separate `ctypes.CDLL` of the same, already loaded file gives separate function objects. ctypes releases the
GIL around each call. Functions that the library does not export are called at the address that its symbol
table gives.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_uint, c_void_p
from functools import cache
from typing import Any

from optctx._native import Llvm
from optctx.errors import UnsupportedImageError
from optctx.image.loaded import image_index, llvmlite_image

__all__ = ["NativeApi", "native_api"]

# llvm::PassBuilder::parsePassPipeline(llvm::ModulePassManager &, llvm::StringRef)
_PARSE_PIPELINE = (
    "_ZN4llvm11PassBuilder17parsePassPipelineERNS_11PassManagerINS_6ModuleENS_15AnalysisManagerIS2_JEEEJEEE"
    "NS_9StringRefE"
)
# llvm::LLVMContext::setDiagnosticHandlerCallBack(void (*)(const DiagnosticInfo *, void *), void *, bool)
_SET_DIAGNOSTIC_HANDLER = (
    "_ZN4llvm11LLVMContext28setDiagnosticHandlerCallBackEPFvPKNS_14DiagnosticInfoEPvES4_b"
)

# What native/compile/llvm.hpp calls these functions, and what the library does.
_EXPORTED = {
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
_HIDDEN = {
    "parse_pipeline": _PARSE_PIPELINE,
    "error_message": "LLVMGetErrorMessage",
    "dispose_error_message": "LLVMDisposeErrorMessage",
    "set_diagnostic_handler": _SET_DIAGNOSTIC_HANDLER,
    "diagnostic_handler": "LLVMContextGetDiagnosticHandler",
    "diagnostic_severity": "LLVMGetDiagInfoSeverity",
    "diagnostic_description": "LLVMGetDiagInfoDescription",
    "dispose_message": "LLVMDisposeMessage",
}

Function = Callable[..., Any]


class NativeApi:
    """Typed functions of one loaded library; pointers are plain integers (`c_void_p`). `image`: its index.

    Raises UnsupportedImageError if the library lacks one of them. Making one changes nothing in the process.
    """

    def __init__(self, image: int, path: str, symbol: Callable[[str], int | None]) -> None:
        self.image = image
        self._path = path
        self._symbol = symbol
        self._library = ctypes.CDLL(path)

        self.native = Llvm(
            image,
            {
                **{name: self._exported_address(symbol) for name, symbol in _EXPORTED.items()},
                **{name: self._hidden_address(symbol) for name, symbol in _HIDDEN.items()},
            },
        )
        self.global_context = self._exported("LLVMPY_GetGlobalContext", c_void_p)
        self.module_context = self._hidden("LLVMGetModuleContext", c_void_p, c_void_p)
        # llvm::Module::getInstructionCount() const
        self.instruction_count = self._hidden("_ZNK4llvm6Module19getInstructionCountEv", c_uint, c_void_p)

    def _exported_address(self, name: str) -> int:
        try:
            address = ctypes.cast(getattr(self._library, name), c_void_p).value
        except AttributeError:
            raise self._missing(name) from None
        assert address  # it is a function
        return address

    def _hidden_address(self, name: str) -> int:
        address = self._symbol(name)
        if address is None:
            raise self._missing(name)
        return address

    def _exported(self, name: str, result: type[Any] | None, *arguments: type[Any]) -> Function:
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise self._missing(name) from None
        function.restype = result
        function.argtypes = arguments
        return function  # type: ignore[no-any-return]  # ctypes functions are looked up by name

    def _hidden(self, name: str, result: type[Any] | None, *arguments: type[Any]) -> Function:
        return ctypes.CFUNCTYPE(result, *arguments)(self._hidden_address(name))

    def _missing(self, name: str) -> UnsupportedImageError:
        return UnsupportedImageError(
            f"compiling needs the function {name}, which {self._path} does not have; "
            "install an llvmlite release that optctx supports, with its symbol table"
        )


@cache
def native_api() -> NativeApi:
    """The functions of llvmlite's own library, looked up once in a process.

    Raises UnsupportedImageError if llvmlite's library is not there or lacks a function.
    """
    image = llvmlite_image()
    return NativeApi(image_index(image), image.path, image.symbol)

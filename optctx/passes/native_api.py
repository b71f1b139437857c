"""The library functions that compiling needs, with prototypes of their own.

llvmlite's `ffi.lib` takes one process-wide lock around every call, so nothing here goes through it: a
separate `ctypes.CDLL` of the same, already loaded file gives separate function objects. ctypes releases the
GIL around each call. Functions that the library does not export are called at the address that its symbol
table gives.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, c_bool, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import Any

from optctx.errors import UnsupportedImageError
from optctx.image.loaded import llvmlite_image

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

Function = Callable[..., Any]


class NativeApi:
    """Typed functions of one loaded library; pointers are plain integers (`c_void_p`).

    Raises UnsupportedImageError if the library lacks one of them. Making one changes nothing in the process.
    """

    def __init__(self, path: str, symbol: Callable[[str], int | None]) -> None:
        self._path = path
        self._symbol = symbol
        self._library = ctypes.CDLL(path)

        self.create_tuning = self._exported("LLVMPY_CreatePipelineTuningOptions", c_void_p)
        self.dispose_tuning = self._exported("LLVMPY_DisposePipelineTuningOptions", None, c_void_p)
        self.create_pass_builder = self._exported("LLVMPY_CreatePassBuilder", c_void_p, c_void_p, c_void_p)
        self.dispose_pass_builder = self._exported("LLVMPY_DisposePassBuilder", None, c_void_p)
        self.create_pass_manager = self._exported("LLVMPY_CreateNewModulePassManager", c_void_p)
        # (pass manager, module, pass builder)
        self.run_pass_manager = self._exported(
            "LLVMPY_RunNewModulePassManager", None, c_void_p, c_void_p, c_void_p
        )
        # The library itself spells it "Manger".
        self.dispose_pass_manager = self._exported("LLVMPY_DisposeNewModulePassManger", None, c_void_p)

        # (target machine, module, 1 for an object or 0 for assembly, message out) -> memory buffer or NULL
        self.emit_to_memory = self._exported(
            "LLVMPY_TargetMachineEmitToMemory", c_void_p, c_void_p, c_void_p, c_int, POINTER(c_void_p)
        )
        self.buffer_start = self._exported("LLVMPY_GetBufferStart", c_void_p, c_void_p)
        self.buffer_size = self._exported("LLVMPY_GetBufferSize", c_size_t, c_void_p)
        self.dispose_buffer = self._exported("LLVMPY_DisposeMemoryBuffer", None, c_void_p)
        self.dispose_string = self._exported("LLVMPY_DisposeString", None, c_void_p)
        self.global_context = self._exported("LLVMPY_GetGlobalContext", c_void_p)

        # The C++ result, an llvm::Error of one pointer, comes back through a hidden first argument:
        # (error out, pass builder, pass manager, text, length of the text)
        self.parse_pipeline = self._hidden(
            _PARSE_PIPELINE, c_void_p, POINTER(c_void_p), c_void_p, c_void_p, c_char_p, c_size_t
        )
        self.error_message = self._hidden("LLVMGetErrorMessage", c_void_p, c_void_p)
        self.dispose_error_message = self._hidden("LLVMDisposeErrorMessage", None, c_void_p)
        self.module_context = self._hidden("LLVMGetModuleContext", c_void_p, c_void_p)
        # (context, handler or NULL, its data, whether this thread's options filter remarks)
        self.set_diagnostic_handler = self._hidden(
            _SET_DIAGNOSTIC_HANDLER, None, c_void_p, c_void_p, c_void_p, c_bool
        )
        self.diagnostic_handler = self._hidden("LLVMContextGetDiagnosticHandler", c_void_p, c_void_p)
        self.diagnostic_severity = self._hidden("LLVMGetDiagInfoSeverity", c_int, c_void_p)
        self.diagnostic_description = self._hidden("LLVMGetDiagInfoDescription", c_void_p, c_void_p)
        self.dispose_message = self._hidden("LLVMDisposeMessage", None, c_void_p)
        # llvm::Module::getInstructionCount() const
        self.instruction_count = self._hidden("_ZNK4llvm6Module19getInstructionCountEv", c_uint, c_void_p)

    def _exported(self, name: str, result: type[Any] | None, *arguments: type[Any]) -> Function:
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise self._missing(name) from None
        function.restype = result
        function.argtypes = arguments
        return function  # type: ignore[no-any-return]  # ctypes functions are looked up by name

    def _hidden(self, name: str, result: type[Any] | None, *arguments: type[Any]) -> Function:
        address = self._symbol(name)
        if address is None:
            raise self._missing(name)
        return ctypes.CFUNCTYPE(result, *arguments)(address)

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
    return NativeApi(image.path, image.symbol)

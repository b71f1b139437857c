"""The functions of LLVM-C that are called, with their types."""

from __future__ import annotations

import ctypes
import glob
import os
import re
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Any

Handler = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
_TEXT = c_void_p  # a string that the caller disposes of
_OUT = POINTER(c_void_p)
# Function of LLVM-C -> what it returns, and what it takes.
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "LLVMGetVersion": (None, (POINTER(c_uint),) * 3),
    "LLVMContextCreate": (c_void_p, ()),
    "LLVMContextDispose": (None, (c_void_p,)),
    "LLVMContextSetDiagnosticHandler": (None, (c_void_p, Handler, c_void_p)),
    "LLVMGetDiagInfoSeverity": (c_int, (c_void_p,)),
    "LLVMGetDiagInfoDescription": (_TEXT, (c_void_p,)),
    "LLVMCreateMemoryBufferWithMemoryRangeCopy": (c_void_p, (c_char_p, c_size_t, c_char_p)),
    "LLVMParseIRInContext": (c_int, (c_void_p, c_void_p, _OUT, _OUT)),
    "LLVMVerifyModule": (c_int, (c_void_p, c_int, _OUT)),
    "LLVMDisposeModule": (None, (c_void_p,)),
    "LLVMPrintModuleToString": (_TEXT, (c_void_p,)),
    "LLVMDisposeMessage": (None, (c_void_p,)),
    "LLVMCreatePassBuilderOptions": (c_void_p, ()),
    "LLVMDisposePassBuilderOptions": (None, (c_void_p,)),
    "LLVMRunPasses": (c_void_p, (c_void_p, c_char_p, c_void_p, c_void_p)),
    "LLVMGetErrorMessage": (c_void_p, (c_void_p,)),
    "LLVMDisposeErrorMessage": (None, (c_void_p,)),
    "LLVMGetDefaultTargetTriple": (_TEXT, ()),
    "LLVMGetTargetFromTriple": (c_int, (c_char_p, _OUT, _OUT)),
    "LLVMGetTargetName": (c_char_p, (c_void_p,)),
    "LLVMCreateTargetMachine": (c_void_p, (c_void_p, c_char_p, c_char_p, c_char_p, c_int, c_int, c_int)),
    "LLVMDisposeTargetMachine": (None, (c_void_p,)),
    "LLVMTargetMachineEmitToMemoryBuffer": (c_int, (c_void_p, c_void_p, c_int, _OUT, _OUT)),
    "LLVMGetBufferStart": (c_void_p, (c_void_p,)),
    "LLVMGetBufferSize": (c_size_t, (c_void_p,)),
    "LLVMDisposeMemoryBuffer": (None, (c_void_p,)),
    "LLVMGetTargetMachineTriple": (_TEXT, (c_void_p,)),
    "LLVMGetTarget": (c_void_p, (c_void_p,)),
    "LLVMSetTarget": (None, (c_void_p, c_char_p)),
    "LLVMCreateTargetDataLayout": (c_void_p, (c_void_p,)),
    "LLVMSetModuleDataLayout": (None, (c_void_p, c_void_p)),
    "LLVMDisposeTargetData": (None, (c_void_p,)),
    "LLVMGetHostCPUName": (_TEXT, ()),
    "LLVMGetHostCPUFeatures": (_TEXT, ()),
    **{
        f"LLVMGet{which}": (c_void_p, (c_void_p,))
        for what in ("Function", "BasicBlock", "Instruction")
        for which in (f"First{what}", f"Next{what}")
    },
    "LLVMIsDeclaration": (c_int, (c_void_p,)),
    "LLVMGetEnumAttributeKindForName": (c_uint, (c_char_p, c_size_t)),
    "LLVMGetEnumAttributeAtIndex": (c_void_p, (c_void_p, c_uint, c_uint)),
    "LLVMParseCommandLineOptions": (None, (c_int, POINTER(c_char_p), c_char_p)),
}
_TARGETS = (
    "AArch64 AMDGPU ARC ARM AVR BPF CSKY DirectX Hexagon Lanai LoongArch M68k MSP430 Mips NVPTX PowerPC "
    "RISCV SPIRV Sparc SystemZ VE WebAssembly X86 XCore Xtensa"
)  # a library need not have them all
_NOT_FOUND = re.compile(r"([^:]+): cannot open shared object file: No such file")  # as glibc says it
_PARTS = ("TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser")


def load(path: str) -> ctypes.CDLL:
    """Load a library, with local symbols and all of its targets. Again does nothing.

    Raises OSError; AttributeError for a function that it lacks.
    """
    library = _load(path, os.path.dirname(path))
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    for target in _TARGETS.split():
        for part in _PARTS:
            if (initialise := getattr(library, f"LLVMInitialize{target}{part}", None)) is not None:
                initialise()
    return library


def _load(path: str, folder: str) -> ctypes.CDLL:
    """Load a library, and before it what it needs and the loader does not find, from the folder.

    A wheel has no links: beside its libLLVM lies `libc++.so.1.0`, and what is needed is `libc++.so.1`. The
    loader takes a library that is loaded for one that is needed, by the name that it gives itself.

    Raises OSError.
    """
    loaded = set[str]()
    while True:
        try:
            return ctypes.CDLL(path, os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            needed = _NOT_FOUND.match(str(error))
            if needed is None or needed[1] == path:
                raise
            if needed[1] in loaded or not (beside := _beside(folder, needed[1])):
                raise OSError(
                    f"it needs {needed[1]}, which the loader does not find, nor is it beside it; put it into "
                    f"{folder}, or name its folder in LD_LIBRARY_PATH when the process starts"
                ) from None
        loaded.add(needed[1])
        _load(beside, folder)


def _beside(folder: str, name: str) -> str:
    """Find a library in the folder or in one of its folders, also with more numbers behind its name."""
    names = [f"{glob.escape(folder)}{between}{name}{more}" for between in ("/", "/*/") for more in ("", ".*")]
    return next((path for pattern in names for path in sorted(glob.glob(pattern))), "")

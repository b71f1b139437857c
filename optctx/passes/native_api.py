"""The library functions that compiling needs, with prototypes of their own.

llvmlite's `ffi.lib` takes one process-wide lock around every call, so no call here goes through it. A
separate `ctypes.CDLL` of the same file, which is already loaded, gives separate function objects. ctypes
releases the GIL around each call. Functions that the library does not export are called at their address in
its symbol table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_uint, c_void_p
from functools import cache
from typing import Any

from optctx._native import Image, Llvm
from optctx.errors import UnsupportedImageError
from optctx.image.facts.c_api import COMPILING, LLVMLITE, MODULE_CONTEXT
from optctx.image.facts.fact import Fact, find
from optctx.image.facts.names import INSTRUCTION_COUNT
from optctx.image.loaded import image_index, llvmlite_image

__all__ = ["NativeApi", "native_api"]

Function = Callable[..., Any]


class NativeApi:
    """Typed functions of one loaded library. Pointers are plain integers (`c_void_p`). `image` is its index.

    Making a NativeApi changes nothing in the process. Raises UnsupportedImageError if the library lacks a
    function.
    """

    def __init__(self, image: Image) -> None:
        self.image = image_index(image)
        self._image = image
        self._library = ctypes.CDLL(image.path)

        self.native = Llvm(
            self.image,
            {
                **{name: self._exported_address(symbol) for name, symbol in LLVMLITE.items()},
                **{name: self._hidden_address(fact) for name, fact in COMPILING.items()},
            },
        )
        self.global_context = self._exported("LLVMPY_GetGlobalContext", c_void_p)
        self.module_context = self._hidden(MODULE_CONTEXT, c_void_p, c_void_p)
        self.instruction_count = self._hidden(INSTRUCTION_COUNT, c_uint, c_void_p)

    def _exported_address(self, name: str) -> int:
        try:
            address = ctypes.cast(getattr(self._library, name), c_void_p).value
        except AttributeError:
            raise self._missing(name) from None
        assert address  # it is a function
        return address

    def _hidden_address(self, fact: Fact[None]) -> int:
        found = find(self._image, fact)
        if found is None:
            raise self._missing(fact.what)
        return found.address

    def _exported(self, name: str, result: type[Any] | None, *arguments: type[Any]) -> Function:
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise self._missing(name) from None
        function.restype = result
        function.argtypes = arguments
        return function  # type: ignore[no-any-return]  # ctypes functions are looked up by name

    def _hidden(self, fact: Fact[None], result: type[Any] | None, *arguments: type[Any]) -> Function:
        return ctypes.CFUNCTYPE(result, *arguments)(self._hidden_address(fact))

    def _missing(self, name: str) -> UnsupportedImageError:
        return UnsupportedImageError(
            f"compiling needs the function {name}, which {self._image.path} does not have; "
            "install an llvmlite release that optctx supports, with its symbol table"
        )


@cache
def native_api() -> NativeApi:
    """The functions of llvmlite's own library, looked up once in a process.

    Raises UnsupportedImageError if llvmlite's library is missing or lacks a function.
    """
    return NativeApi(llvmlite_image())

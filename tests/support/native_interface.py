"""Scopes as C++ code enters them, through the C interface and ctypes: no compiler is needed."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from optctx import _native


class _Entered(ctypes.Structure):
    _fields_ = [("thread", c_uint64), ("number", c_uint64)]


class _Error(ctypes.Structure):
    _fields_ = [("message", ctypes.c_char * 512)]


_Status = functools.partial(ctypes.CFUNCTYPE, c_int32)


class _Interface(ctypes.Structure):
    """optctx/include/optctx/interface.h"""

    _fields_ = [
        ("version", c_uint32),
        ("read", c_void_p),
        ("prepare", _Status(c_void_p, POINTER(c_char_p), c_size_t, POINTER(c_void_p), POINTER(_Error))),
        ("release", ctypes.CFUNCTYPE(None, c_void_p)),
        ("enter", _Status(c_void_p, POINTER(_Entered), POINTER(_Error))),
        ("leave", _Status(_Entered, POINTER(_Error))),
    ]


@functools.cache
def _interface() -> Any:
    find = ctypes.CDLL(_native.__file__).optctx_find_interface
    find.restype = POINTER(_Interface)
    return find(c_uint32(3)).contents


def _check(status: int, error: _Error) -> None:
    if status != 0:
        raise RuntimeError(f"{status}: {error.message.decode()}")


class NativeScope:
    """A scope of these values, on top of those of this thread: option -> text on a command line."""

    def __init__(self, values: Mapping[str, str]) -> None:
        error, arguments = _Error(), [f"{name}={text}".encode() for name, text in values.items()]
        given = (c_char_p * len(arguments))(*arguments)
        self._context, self._entered = c_void_p(), _Entered()
        _check(_interface().prepare(None, given, len(given), byref(self._context), byref(error)), error)

    def __enter__(self) -> NativeScope:
        error = _Error()
        _check(_interface().enter(self._context, byref(self._entered), byref(error)), error)
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
        _interface().release(self._context)

    def leave(self) -> None:
        error = _Error()
        _check(_interface().leave(self._entered, byref(error)), error)

"""Scopes as C++ code enters them, through the C interface and ctypes: no compiler is needed."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from optctx import _native


class _Text(ctypes.Structure):
    _fields_ = [("data", c_char_p), ("length", c_size_t)]


class _Setting(ctypes.Structure):
    _fields_ = [("name", _Text), ("values", POINTER(_Text)), ("count", c_size_t), ("elements", c_uint32)]


class _Entered(ctypes.Structure):
    _fields_ = [("thread", c_uint64), ("number", c_uint64)]


class _Error(ctypes.Structure):
    _fields_ = [("message", ctypes.c_char * 512)]


_Status = functools.partial(ctypes.CFUNCTYPE, c_int32)


class _Interface(ctypes.Structure):
    """optctx/include/optctx/interface.h"""

    _fields_ = [
        ("version", c_uint32),
        ("size", c_uint32),
        ("image", _Status(c_void_p, POINTER(c_void_p), POINTER(_Error))),
        ("current", _Status(c_void_p, POINTER(c_void_p), POINTER(_Error))),
        ("bound", c_void_p),
        ("retain", c_void_p),
        ("release", ctypes.CFUNCTYPE(None, c_void_p)),
        *((name, c_void_p) for name in ("find", "read", "release_value", "occurrences")),
        (
            "make",
            _Status(c_void_p, c_void_p, POINTER(_Setting), c_size_t, POINTER(c_void_p), POINTER(_Error)),
        ),
        ("enter", _Status(c_void_p, POINTER(_Entered), POINTER(_Error))),
        ("leave", _Status(_Entered, POINTER(_Error))),
    ]


@functools.cache
def _interface() -> Any:
    find = ctypes.CDLL(_native.__file__).optctx_find_interface
    find.restype = POINTER(_Interface)
    found = find(c_uint32(2)).contents
    assert found.size == ctypes.sizeof(_Interface)
    return found


def _check(status: int, error: _Error) -> None:
    if status != 0:
        raise RuntimeError(f"{status}: {error.message.decode()}")


class NativeScope:
    """A scope of these values, on top of those of this thread: option -> text on a command line."""

    def __init__(self, values: Mapping[str, str]) -> None:
        native, error, image, base = _interface(), _Error(), c_void_p(), c_void_p()
        _check(native.image(None, byref(image), byref(error)), error)
        _check(native.current(image, byref(base), byref(error)), error)
        texts = [(name.encode(), text.encode()) for name, text in values.items()]
        kept = [_Text(text, len(text)) for _, text in texts]
        settings = (_Setting * len(texts))(
            *(
                _Setting(_Text(name, len(name)), ctypes.pointer(value), 1, 0)
                for (name, _), value in zip(texts, kept, strict=True)
            )
        )
        self._context = c_void_p()
        status = native.make(image, base, settings, len(texts), byref(self._context), byref(error))
        native.release(base)
        _check(status, error)
        self._entered = _Entered()

    def __enter__(self) -> NativeScope:
        error = _Error()
        _check(_interface().enter(self._context, byref(self._entered), byref(error)), error)
        return self

    def __exit__(self, *_: object) -> None:
        error = _Error()
        _check(_interface().leave(self._entered, byref(error)), error)
        _interface().release(self._context)

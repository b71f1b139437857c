"""What only Python's collector frees: cycles, after an error, that could hold objects of the caller."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, MethodType, TracebackType

HOLDERS = (BaseException, FrameType, TracebackType, MethodType)


@contextmanager
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def left_behind() -> list[object]:
    """What only the collector frees and could keep the caller's objects; ctypes has cycles of its own."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return [each for each in gc.garbage if isinstance(each, HOLDERS) or is_ours(type(each))]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.collect()


def is_ours(kind: type) -> bool:
    package = kind.__module__.partition(".")[0]
    return package in ("llvmlite", "optctx") and not issubclass(kind, ctypes._Pointer)

"""Spoils LLVM's process-wide option values: a read of one inside a context shows in the output."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from evidence.conformance.library import judged_image
from optctx._native import Kind
from optctx.engine.attach import attach

_NUMBERS: dict[Kind, Callable[[int], ctypes._SimpleCData]] = {  # type: ignore[type-arg]
    Kind.int32: ctypes.c_int32.from_address,
    Kind.uint32: ctypes.c_uint32.from_address,
    Kind.int64: ctypes.c_int64.from_address,
    Kind.uint64: ctypes.c_uint64.from_address,
    Kind.float32: ctypes.c_float.from_address,
    Kind.float64: ctypes.c_double.from_address,
}


def spoil() -> None:
    """Changes every plain value that contexts have storage of their own for.

    For this process and for good; only contexts with base="defaults" are of use after that.
    """
    engine = attach(judged_image())
    for option in engine.plan.options.values():
        kind = option.type.kind
        if option.scope != "thread" or option.alias_of:
            continue
        address = option.place.address
        if kind == Kind.boolean:
            value = ctypes.c_uint8.from_address(address)
            value.value ^= 1
        elif kind in _NUMBERS:
            number = _NUMBERS[kind](address)
            number.value = number.value + 3

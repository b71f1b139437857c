"""A function for Numba to compile, and what comes of it. Nothing is decorated on import.

Numba works with one TargetMachine, which it makes when it first decorates a function.
"""

from __future__ import annotations

import functools
import re
import struct
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba

Options = Mapping[str, object]
Turn = tuple[str, Options]

_PROGRAM, _EXECUTED = 1, 4  # of sections in object files


def chooses(x: int, y: int) -> int:
    return y * y // 7 if x == 1 or x == 14 or x == 29 else y


def machine_code(function: Any) -> str:
    """Of a dispatcher with one signature, as LLVM emitted it: no address is in it yet."""
    [overload] = function.overloads.values()
    return code_of(overload.library._get_compiled_object())


def code_of(elf: bytes) -> str:
    """The bytes in the sections of an object file that are executed."""
    [start] = struct.unpack_from("<Q", elf, 0x28)
    [count] = struct.unpack_from("<H", elf, 0x3C)
    found = b""
    for index in range(count):
        _, kind, flags, _, offset, size = struct.unpack_from("<IIQQQQ", elf, start + 64 * index)
        found += elf[offset : offset + size] if kind == _PROGRAM and flags & _EXECUTED else b""
    return found.hex()


# In processes of their own


def in_turn(turns: Sequence[Turn], threads: Sequence[Options] = ()) -> list[str]:
    """Compile in each of these ways, one after the other, and then on threads in scopes of these options.

    Without any options optctx is not used. Returns assembly.
    """
    found = [_compiled_in(*turn) for turn in turns]
    assert ("optctx._native" in sys.modules) == any(options for _, options in turns)
    with ThreadPoolExecutor(3) as pool:
        return [*found, *pool.map(functools.partial(_compiled_in, "scope"), threads)]


def _compiled_in(way: str, options: Options) -> str:
    """Compile inside a scope of the options, bound to them, or outside any scope if there are none."""
    if not options:
        return _compiled()
    from llvmlite.binding.context import get_global_context

    from optctx import OptionContext, unbind

    context = OptionContext(options, base="defaults")
    if way == "scope":
        return context.run(_compiled)
    context.bind(get_global_context())  # the one that Numba uses
    found = _compiled()
    unbind(get_global_context())
    return found


def _compiled() -> str:
    [text] = numba.njit("int64(int64, int64)")(chooses).inspect_asm().values()
    # Names have the number of the function, as in "B2v1", and there are strings of names.
    return re.sub(r"B\d+v\d+|(?<=\", )\d+$", "", text, flags=re.MULTILINE)

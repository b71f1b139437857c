"""A function for Numba to compile, and what comes of it. Nothing is decorated on import.

Numba works with one TargetMachine, which it makes when it first decorates a function.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
from llvmlite.binding import ObjectFileRef

Options = Mapping[str, object]
Turn = tuple[str, Options]


def chooses(x: int, y: int) -> int:
    return y * y // 7 if x == 1 or x == 14 or x == 29 else y


def machine_code(function: Any) -> str:
    """Of a dispatcher with one signature, as LLVM emitted it: no address is in it yet."""
    [overload] = function.overloads.values()
    file = ObjectFileRef.from_data(overload.library._get_compiled_object())
    return b"".join(section.data() for section in file.sections() if section.is_text()).hex()


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

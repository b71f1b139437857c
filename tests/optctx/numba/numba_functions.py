"""Functions for Numba to compile, and what comes of them.

Numba works with one TargetMachine, which it makes when it first compiles.
"""

from __future__ import annotations

import ctypes
import functools
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["Code", "Options", "Turn", "compiled", "in_turn"]

Options = Mapping[str, object]
Code = dict[str, str]
Turn = tuple[str, Options]

_CODE = 64  # bytes of machine code, none of which is an address


@intrinsic
def _abort(_: Any, condition: Any) -> Any:
    """Abort the process if the condition holds. With `trap-unreachable` LLVM puts a trap after the call."""

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        with builder.if_then(builder.trunc(arguments[0], cgutils.bool_t)):
            kind = ir.FunctionType(ir.VoidType(), ())
            abort = cgutils.get_or_insert_function(builder.module, kind, "abort")
            abort.attributes.add("noreturn")
            builder.call(abort, ())
            builder.unreachable()
        return context.get_dummy_value()

    return types.void(condition), generate


def compiled() -> Code:
    """Have Numba compile functions of its own for each call; return their assembly and machine code.

    Without the numbers that Numba gives to functions.
    """

    @njit("int64(int64, int64)")
    def chooses(x: int, y: int) -> int:
        return y * y // 7 if x == 1 or x == 14 or x == 29 else y

    @njit("void(int64)")
    def stops(x: int) -> None:
        _abort(x == 3)

    found = {}
    for function in (chooses, stops):
        [text] = function.inspect_asm().values()
        # Names have the number of the function, as in "B2v1", and there are strings of names.
        found[function.__name__] = re.sub(r"B\d+v\d+|(?<=\", )\d+$", "", text, flags=re.MULTILINE)
    [overload] = chooses.overloads.values()
    address = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
    found["code"] = ctypes.string_at(address, _CODE).hex()
    return found


# In processes of their own


def in_turn(turns: Sequence[Turn], threads: Sequence[Options] = ()) -> list[Code]:
    """Compile in each of these ways, one after the other, and then at once on a thread for each of `threads`.

    Without any options optctx is not imported.
    """
    found = [_compiled(*turn) for turn in turns]
    assert ("optctx" in sys.modules) == any(options for _, options in turns)
    if threads:
        from tests.support.scopes import in_threads

        last: dict[int, Code] = {}

        def work(index: int) -> None:
            last[index] = _compiled("scope", threads[index])

        in_threads([functools.partial(work, index) for index in range(len(threads))])
        found += [code for _, code in sorted(last.items())]
    return found


def _compiled(way: str, options: Options) -> Code:
    """Compile inside a scope of the options, bound to them, or outside any scope if there are none."""
    if not options:
        return compiled()
    from llvmlite.binding.context import get_global_context

    from optctx import OptionContext, unbind

    context = OptionContext(options, base="defaults")
    if way == "scope":
        return context.run(compiled)
    context.bind(get_global_context())  # the one that Numba uses
    found = compiled()
    unbind(get_global_context())
    return found

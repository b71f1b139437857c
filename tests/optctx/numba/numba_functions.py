"""Functions for Numba to compile, and what comes of them.

Numba works with one TargetMachine, which it makes when it first compiles.
"""

from __future__ import annotations

import ctypes
import functools
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["at_once", "bound", "compiled", "in_turn"]

Options = Mapping[str, object]
Code = dict[str, str]

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

    @njit("int64(int64[:], int64)")
    def loops(values: Any, n: int) -> int:
        count = 0
        for i in range(n):
            value = values[i]
            if value == 1 or value == 14 or value == 29:
                count += value // n
            elif value == 5:
                values[i] = 3
                return count
            else:
                count -= 2
        return count

    @njit("void(int64)")
    def stops(x: int) -> None:
        _abort(x == 3)

    found = {}
    for function in (chooses, loops, stops):
        [text] = function.inspect_asm().values()
        # Names have the number of the function, as in "B2v1", and there are strings of names.
        found[function.__name__] = re.sub(r"B\d+v\d+|(?<=\", )\d+$", "", text, flags=re.MULTILINE)
    [overload] = chooses.overloads.values()
    address = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
    found["code"] = ctypes.string_at(address, _CODE).hex()
    return found


# In processes of their own


def in_turn(*turns: Options) -> list[Code]:
    """Compile in a scope of each of these sets of options, or outside any if it is empty.

    Without any options optctx is not imported.
    """
    found = [_within(options)(compiled) for options in turns]
    assert ("optctx" in sys.modules) == any(turns)
    return found


def at_once(*turns: Options) -> list[list[Code]]:
    """Compile twice on a thread for each set of options."""
    from tests.support.scopes import in_threads

    found: list[list[Code]] = [[] for _ in turns]

    def work(index: int) -> None:
        for _ in range(2):
            found[index].append(_within(turns[index])(compiled))

    in_threads([functools.partial(work, index) for index in range(len(turns))])
    return found


def bound(*turns: Options) -> list[Code]:
    """Compile with options bound to the LLVMContext that Numba uses."""
    from llvmlite.binding.context import get_global_context

    from optctx import OptionContext, unbind

    found = []
    for options in turns:
        if options:
            OptionContext(options, base="defaults").bind(get_global_context())
        found.append(compiled())
        if options:
            unbind(get_global_context())
    return found


def _within(options: Options) -> Callable[[Callable[[], Code]], Code]:
    if not options:
        return lambda work: work()
    from optctx import OptionContext

    return OptionContext(options, base="defaults").run

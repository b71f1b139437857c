"""Functions that Numba compiles with and without options of their own, and what comes of them.

A helper and NumPy functions are called, so that most of the code is theirs.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

__all__ = ["ARRAY", "calls_helper", "calls_numpy", "code", "helper", "loop", "raises"]

Decorator = Callable[[Any], Any]

ARRAY = np.arange(1000)
_CODE = 96  # bytes of machine code that are compared, none of which is an address


@numba.njit  # type: ignore[untyped-decorator]
def helper(array: Any) -> int:
    result = 0
    for value in array:
        result += value * value
    return result


def calls_helper(array: Any) -> int:
    return helper(array) + 1


def calls_numpy(array: Any) -> Any:
    return np.sum(array) + np.sort(array)[0] + helper(array)


def loop(array: Any) -> int:
    count = 0
    for i in range(array.size):
        if array[i] == 1 or array[i] == 14 or array[i] == 29:
            count += array[i] // 7
    return count


def raises(array: Any, index: int) -> int:
    if index > array.size:
        raise IndexError("far out", index)
    return array[index]


def code(function: Any) -> dict[str, str]:
    """The assembly and machine code of a dispatcher with one signature, without the numbers of functions."""
    [text] = function.inspect_asm().values()
    [overload] = function.overloads.values()
    address = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
    # Names have the number of the function, as in "B2v1", and there are strings of names.
    named = re.sub(r"(?<=[vB])\d+|(?<=\", )\d+$|(?<=#)\d+", "", text, flags=re.MULTILINE)
    return {"assembly": named, "code": ctypes.string_at(address, _CODE).hex()}

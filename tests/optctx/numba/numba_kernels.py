"""Functions that Numba compiles with and without options of their own, and what comes of them.

A helper and NumPy functions are called, so that most of the code is theirs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

__all__ = ["ARRAY", "KERNELS", "code_of", "compiled", "helper", "is_vector", "machine_code"]

ARRAY = np.arange(1000)
# Of sections in object files.
_PROGRAM = 1
_EXECUTED = 4


@numba.njit  # type: ignore[untyped-decorator]
def helper(array: Any) -> int:
    result = 0
    for value in array:
        result += value * value
    return result


def calls_helper(array: Any) -> int:
    return helper(array) + 1


def calls_numpy(array: Any) -> Any:
    return np.sum(array) + np.max(array)


def loops(array: Any) -> int:
    count = 0
    for i in range(array.size):
        if array[i] == 1 or array[i] == 14 or array[i] == 29:
            count += array[i] // 7
    return count


def raises(array: Any) -> int:
    if array.size > 5000:
        raise IndexError("too many", array.size)
    return array[0]


KERNELS = {each.__name__: each for each in (calls_helper, calls_numpy, loops, raises)}


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


def is_vector(function: Any) -> bool:
    """Whether code of a dispatcher with one signature has vectors of integers."""
    [text] = function.inspect_llvm().values()
    return " x i64>" in text


def compiled(decorate: Callable[[Any], Any]) -> dict[str, str]:
    """The machine code of every kernel."""
    found = {}
    for name, kernel in KERNELS.items():
        function = decorate(kernel)
        function(ARRAY)
        found[name] = machine_code(function)
    return found

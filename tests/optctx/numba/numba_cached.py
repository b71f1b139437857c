"""A program that compiles a function with Numba's cache on disk, and says what came from there.

Its arguments are the folder of the cache, and in JSON what is set process-wide, as command-line arguments,
and a list of steps. A step
is "plain" for Numba itself, {"scope": options} for Numba inside a scope, or the options of a function of
`optctx.numba`. For each step it prints how often Numba found the
function in its cache, and the first bytes of the machine code without the addresses that it loads.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
from typing import Any

import numba
import numpy as np
from llvmlite import binding

_CODE = 96  # bytes
# x86-64's movabs, in hexadecimal. It loads an address, which differs from process to process. The last one
# may be cut off.
_LOADED_ADDRESS = re.compile(r"(4[89]b[89a-f])[0-9a-f]{1,16}")

array = np.arange(100)


@numba.njit  # type: ignore[untyped-decorator]
def is_special(value: int) -> bool:
    return value == 1 or value == 14 or value == 29


def loops(array: Any) -> int:
    count = 0
    for i in range(array.size):
        if is_special(array[i]):
            count += array[i] // 7
    return count


def chooses(x: int, y: int) -> int:
    return y * y // 7 if x == 1 or x == 14 or x == 29 else y


def step(options: Any) -> tuple[int, str]:
    if options == "plain":
        function = numba.njit(loops, cache=True)
        function(array)
    elif "scope" in options:
        from optctx import OptionContext

        function = numba.njit(loops, cache=True)
        with OptionContext(options["scope"]):
            function(array)
    else:
        import optctx.numba

        function = optctx.numba.njit(loops, cache=True, options=options)
        function(array)
    return sum(function.stats.cache_hits.values()), machine_code(function)


def machine_code(function: Any) -> str:
    """The first bytes of the code, in hexadecimal, without addresses."""
    [overload] = function.overloads.values()
    address = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
    return _LOADED_ADDRESS.sub(r"\1", ctypes.string_at(address, _CODE).hex())


if __name__ == "__main__":
    numba.config.CACHE_DIR = sys.argv[1]
    for argument in json.loads(sys.argv[2]):
        binding.set_option("", argument)
    print(json.dumps([step(each) for each in json.loads(sys.argv[3])]))

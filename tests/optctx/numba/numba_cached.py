"""What processes with Numba's cache on disk find there and compile."""

from __future__ import annotations

import ctypes
import re
import sys
from typing import Any

import numba
import numpy as np
from llvmlite import binding

from tests.optctx.numba.numba_functions import chooses

_CODE = 96  # bytes
# x86-64's movabs, in hexadecimal. It loads an address, which differs from process to process. The last one
# may be cut off.
_LOADED_ADDRESS = re.compile(r"(4[89]b[89a-f])[0-9a-f]{1,16}")

array = np.arange(100)


@numba.njit
def is_special(value: int) -> bool:
    return value == 1 or value == 14 or value == 29


def loops(array: Any) -> int:
    count = 0
    for i in range(array.size):
        if is_special(array[i]):
            count += array[i] // 7
    return count


def steps(folder: str, *steps: Any) -> list[tuple[int, str]]:
    """Compile a function in each of several ways, with Numba's cache in that folder."""
    numba.config.CACHE_DIR = folder
    return [step(each) for each in steps]


def step(options: Any) -> tuple[int, str]:
    """Compile a function, or find it in Numba's cache.

    `options`: "plain" for Numba itself, {"scope": options} for Numba inside a scope, or the options of a
    function of `optctx.numba`. Return how often Numba found the function, and `code_in_memory` of it.
    """
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
    return sum(function.stats.cache_hits.values()), code_in_memory(function)


def code_in_memory(function: Any) -> str:
    """The first bytes of the code, without addresses: of what Numba loads from a cache it keeps no object."""
    [overload] = function.overloads.values()
    address = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
    return _LOADED_ADDRESS.sub(r"\1", ctypes.string_at(address, _CODE).hex())


def inside_and_outside() -> list[tuple[int, str]]:
    """Compile `chooses` twice inside a scope and then outside any."""
    from optctx import OptionContext

    def compiled() -> tuple[int, str]:
        made = numba.njit("int64(int64, int64)", cache=True)(chooses)
        return sum(made.stats.cache_hits.values()), code_in_memory(made)

    inside = OptionContext({"fast-isel": True})
    return [inside.run(compiled), inside.run(compiled), compiled()]


def without_optctx(first: str, second: str) -> tuple[list[tuple[int, str]], list[bool]]:
    """Compile in one folder without options and then with fast-isel, and in another one the other way round.

    Return what was found and made, and what of optctx is there.
    """
    from numba.core import caching, codegen, dispatcher

    found = []
    for folder, fast in ((first, False), (first, True), (second, True), (second, False)):
        binding.set_option("", f"-fast-isel={int(fast)}")
        found += steps(folder, "plain")
    return found, [
        "optctx.numba.extension" in sys.modules,
        "optctx.errors" in sys.modules,
        hasattr(caching.Cache._load_overload, "__wrapped__"),
        hasattr(codegen.CPUCodeLibrary.finalize, "__wrapped__"),
        hasattr(dispatcher.Dispatcher.compile, "_optctx"),
    ]

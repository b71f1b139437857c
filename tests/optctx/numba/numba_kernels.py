"""Functions that Numba compiles with and without options of their own, and what comes of them.

A helper and NumPy functions are called, so that most of the code is theirs.
"""

from __future__ import annotations

import ctypes
import importlib
import pickle
import re
import sys
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from llvmlite import binding

from tests.optctx.numba.numba_functions import Options, machine_code

__all__ = [
    *("ARRAY", "KERNELS", "SCALAR", "calls_helper", "code_in_memory", "compiled", "fresh", "helper"),
    *("is_vector", "loaded", "refused_uses", "step", "steps", "total", "without_optctx"),
]

ARRAY = np.arange(1000)
SCALAR: Options = {"force-vector-width": 1, "vectorize-slp": False}

_CODE = 96  # bytes
# x86-64's movabs, in hexadecimal. It loads an address, which differs from process to process. The last one
# may be cut off.
_LOADED_ADDRESS = re.compile(r"(4[89]b[89a-f])[0-9a-f]{1,16}")


@numba.njit
def helper(array: Any) -> int:
    result = 0
    for value in array:
        result += value * value
    return result


def total(array: Any) -> int:
    result = 0
    for value in array:
        result += value
    return result


def calls_helper(array: Any) -> int:
    return helper(array) + 1


def calls_numpy(array: Any) -> Any:
    return np.sum(array) + array.size


KERNELS = {each.__name__: each for each in (calls_helper, calls_numpy)}


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


def code_in_memory(function: Any) -> str:
    """The first bytes of the code, without addresses: of what Numba loads from a cache it keeps no object."""
    [overload] = function.overloads.values()
    address = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
    return _LOADED_ADDRESS.sub(r"\1", ctypes.string_at(address, _CODE).hex())


def step(options: Any) -> tuple[int, str]:
    """Compile a function, or find it in Numba's cache.

    `options`: "plain" for Numba itself, or the options of a function of `optctx.numba`. Return how often
    Numba found the function, and `code_in_memory` of it.
    """
    if options == "plain":
        function = numba.njit(calls_helper, cache=True)
    else:
        import optctx.numba

        function = optctx.numba.njit(calls_helper, cache=True, options=options)
    function(ARRAY)
    return sum(function.stats.cache_hits.values()), code_in_memory(function)


# In processes of their own


def fresh() -> dict[str, str]:
    """Return what plain Numba makes, without optctx."""
    assert "optctx._native" not in sys.modules
    return compiled(numba.njit)


def loaded(pickled: bytes) -> tuple[int, bool, list[str]]:
    """Call a pickled function with options; return its result, and what its options are."""
    function = pickle.loads(pickled)
    return int(function(ARRAY)), is_vector(function), function.llvm_options.args()


def steps(folder: str, *steps: Any) -> list[tuple[int, str]]:
    """Compile a function in each of several ways, with Numba's cache in that folder."""
    numba.config.CACHE_DIR = folder
    return [step(each) for each in steps]


def without_optctx(folder: str) -> tuple[list[tuple[int, str]], list[bool]]:
    """Compile, and once more with fast-isel. Return what was found and made, and what of optctx is there."""
    from numba.core import caching, codegen, dispatcher

    found = steps(folder, "plain")
    binding.set_option("", "-fast-isel")
    return [*found, *steps(folder, "plain")], [
        "optctx.numba.extension" in sys.modules,
        "optctx.errors" in sys.modules,
        hasattr(caching.Cache._load_overload, "__wrapped__"),
        hasattr(codegen.CPUCodeLibrary.finalize, "__wrapped__"),
        hasattr(dispatcher.Dispatcher.compile, "_optctx"),
    ]


def refused_uses() -> list[str]:
    """Return why `optctx.numba` cannot be used, without Numba and beside two that are not as expected."""
    changes: list[Callable[[pytest.MonkeyPatch], None]] = [
        lambda patch: patch.setitem(sys.modules, "numba", None),
        lambda patch: patch.setattr(numba, "__version__", "0.60.0"),
        lambda patch: patch.delattr(numba.core.codegen.CPUCodeLibrary, "_get_module_for_linking"),
    ]
    said = []
    for change in changes:
        with pytest.MonkeyPatch.context() as patch:
            change(patch)
            with pytest.raises(ImportError) as refused:
                importlib.import_module("optctx.numba").njit  # noqa: B018
        said.append(str(refused.value))
        for name in [name for name in sys.modules if name.startswith("optctx.numba")]:
            del sys.modules[name]
    return said

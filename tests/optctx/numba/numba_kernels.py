"""Functions that Numba compiles with and without options of their own, and what comes of them.

A helper and NumPy functions are called, so that most of the code is theirs.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from tests.optctx.numba.numba_functions import Options, machine_code

__all__ = [
    *("ARRAY", "KERNELS", "SCALAR", "calls_helper", "compiled", "fresh", "helper", "is_vector", "loaded"),
    *("refused_uses", "total"),
]

ARRAY = np.arange(1000)
SCALAR: Options = {"force-vector-width": 1, "vectorize-slp": False}


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


def raises(array: Any) -> int:
    if array.size > 5000:
        raise IndexError("too many", array.size)
    return array[0]


KERNELS = {each.__name__: each for each in (calls_helper, calls_numpy, raises)}


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


# In processes of their own


def fresh() -> dict[str, str]:
    """Return what plain Numba makes, without optctx."""
    assert "optctx._native" not in sys.modules
    return compiled(numba.njit)


def loaded(pickled: bytes) -> tuple[int, bool, list[str]]:
    """Call a pickled function with options; return its result, and what its options are."""
    function = pickle.loads(pickled)
    return int(function(ARRAY)), is_vector(function), function.llvm_options.args()


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

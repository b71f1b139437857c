"""Universal functions of plain Numba, decorated in a process of its own, and their machine code."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core.codegen import JITCodeLibrary

from tests.optctx.numba.numba_functions import Options, code_of

ARRAY = np.arange(1000, dtype=np.int64)


def _tripled(value: int) -> int:
    return value * 3


def _sums(array: Any, result: Any) -> None:
    total = 0
    for value in array:
        total += value
    result[0] = total


def decorated(options: Options, target: str) -> list[str]:
    """Decorate one function with `vectorize` and one with `guvectorize`; return the code.

    In a scope of the options if there are any; without, optctx is not imported. The same is decorated outside
    before, so that Numba has what it compiles once.
    """
    _decorated(target)
    if not options:
        return _decorated(target)
    from optctx import OptionContext

    return OptionContext(options, base="defaults").run(_decorated, target)


def _decorated(target: str) -> list[str]:
    """The code of everything that Numba compiles for the two, in order."""
    made: list[Any] = []
    finalize = JITCodeLibrary._finalize_final_module

    def kept(library: Any) -> None:
        library.enable_object_caching()
        made.append(library)
        finalize(library)

    JITCodeLibrary._finalize_final_module = kept
    try:
        tripled = numba.vectorize(["int64(int64)"], target=target)(_tripled)
        sums = numba.guvectorize(["void(int64[:], int64[:])"], "(n)->()", target=target)(_sums)
        assert (tripled(ARRAY) == 3 * ARRAY).all()
        assert sums(ARRAY) == ARRAY.sum()
    finally:
        JITCodeLibrary._finalize_final_module = finalize
    return [code_of(library._get_compiled_object()) for library in made]

"""Numba's cache on disk: plain Numba loads code of other options, and `optctx.numba` does not.

Inside scopes it is not used, and it keeps no code that was made in one.
"""

from __future__ import annotations

import contextlib
import pathlib
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

if FREE_THREADED:
    pytest.skip(NEEDS_NUMBA, allow_module_level=True)

import numba
import numpy as np
from llvmlite import binding
from llvmlite.binding.context import get_global_context
from numba.core.errors import NumbaWarning

import optctx.numba
from optctx import OptionContext, contained, unbind
from optctx.errors import NumbaOptionsWarning
from tests.optctx.numba.numba_functions import chooses
from tests.optctx.numba.numba_kernels import ARRAY, code_in_memory, step, steps, total, without_optctx
from tests.optctx.numba.numba_processes import compile_first_inside, run

FAST = {"fast-isel": True}
ARM = {"arm-parallel-dsp-load-limit": 3}  # which no code reads that is not for ARM


def scales(x: int) -> int:
    return x * 3


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module", autouse=True)
def started() -> None:
    """Have Numba make its runtime functions and call its extensions, outside scopes, as it first compiles."""
    numba.njit("int64(int64)")(scales)


def test_entries_are_found_under_the_options_that_they_read(cache: pathlib.Path) -> None:
    """Those of functions with options and those of plain Numba are kept apart.

    Plain Numba loads code of other options. If Numba mends it, the first assertion is to be changed.
    """
    [(_, plain), found], beside = run(without_optctx, str(cache))
    assert found == (1, plain)
    assert beside == [True, False, False, False, False], "without optctx, Numba is as it is"
    written = {path: path.read_bytes() for path in cache.rglob("*.nb?")}
    fast = step(FAST)[1]
    assert fast != plain
    assert [step(each) for each in ({}, {}, FAST, {**FAST, **ARM})] == [
        *((0, plain), (1, plain), (1, fast), (1, fast))
    ]
    # In another process, which was told the same in another way.
    ways: tuple[Any, ...] = {}, {"fast-isel": False}, ARM, "plain"
    assert run(steps, str(cache), *ways, process_wide=["-fast-isel=1"]) == [
        *((1, fast), (0, plain), (1, fast), (1, plain))
    ]
    assert {path: path.read_bytes() for path in written} == written


def test_an_entry_in_the_file_of_another_one_is_not_found(cache: pathlib.Path) -> None:
    """As processes may leave them that save at once: Numba's index files lose entries then."""
    first, second = step({}), step(FAST)
    one, other = cache.rglob("*-optctx*.nbc")
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert [step({}), step(FAST)] == [first, second]


def test_the_first_compilation_of_a_process_may_be_in_a_scope(cache: pathlib.Path) -> None:
    compile_first_inside(folder=str(cache))


def test_a_caller_of_functions_with_other_options_is_not_cached(cache: pathlib.Path) -> None:
    inner = optctx.numba.njit(options=FAST)(total)

    def outer(array: Any) -> int:
        return inner(array)

    with pytest.warns(NumbaWarning, match='"outer" as it calls a function that has LLVM options of its own'):
        optctx.numba.njit(outer, cache=True, options={})(ARRAY)
    with pytest.warns(NumbaWarning, match='Cannot cache compiled function "outer"'):
        numba.njit(outer, cache=True)(ARRAY)
    assert not list(cache.rglob("*.nbc"))


# Inside scopes


def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[int, str]:
    """Have Numba load or compile the function anew; how often it was found, and its code."""
    made = numba.njit(function, cache=True, **named)
    assert np.all(made(*arguments) == function(*arguments))
    return sum(made.stats.cache_hits.values()), code_in_memory(made)


def test_inside_a_scope_nothing_is_loaded_or_saved(cache: pathlib.Path) -> None:
    [(_, outside), found] = [call(chooses, 3, 4), call(chooses, 3, 4)]
    assert found == (1, outside)
    files = sorted(cache.rglob("*.nb?"))
    with OptionContext(FAST):
        [(_, fast), again] = [call(chooses, 3, 4), call(chooses, 3, 4)]
        assert again == (0, fast) != (0, outside)
        numba.njit(chooses, cache=True)(3.5, 4)
    for scope in (OptionContext(), OptionContext(base="defaults"), contained()):
        with scope:
            assert call(chooses, 3, 4) == (0, outside)
    with contained():
        binding.set_option("", "-fast-isel")
        assert call(chooses, 3, 4) == (0, fast)
    OptionContext(FAST).bind(get_global_context())  # that of Numba's modules
    try:
        assert call(chooses, 3, 4) == (0, fast)
    finally:
        unbind(get_global_context())
    assert sorted(cache.rglob("*.nb?")) == files
    assert call(chooses, 3, 4) == (1, outside)


def calls_helper_of(scope: contextlib.AbstractContextManager[Any]) -> Callable[[int], int]:
    """A function that calls one that Numba compiled in the scope."""

    @numba.njit
    def helper(x: int) -> bool:
        return x == 1 or x == 14 or x == 29

    with scope:
        helper(3)

    def calls(x: int) -> int:
        return helper(x) + 1

    return calls


def test_a_function_whose_helper_a_scope_compiled_is_not_kept(cache: pathlib.Path) -> None:
    """Plain Numba compiles a helper once for a process."""
    calls = calls_helper_of(OptionContext())
    with OptionContext(FAST):
        assert call(calls, 3)[0] == 0  # warnings are errors
    told = r"calls is not cached: Numba compiled \S*helper.* decorate \S+calls with optctx\.numba\.njit"
    with pytest.warns(NumbaOptionsWarning, match=told) as found:
        call(calls, 3)
    assert [each.filename for each in found] == [__file__]
    within = numba.njit(calls)

    def deeper(x: int, function: Any = within) -> int:
        return function(x) + 1

    with pytest.warns(NumbaOptionsWarning, match="deeper is not cached: Numba compiled "):
        call(deeper, 3)
    assert not list(cache.rglob("*.nb?"))
    calls = calls_helper_of(contextlib.nullcontext())
    with OptionContext(FAST):
        assert call(calls, 3)[0] == 0
    assert [call(calls, 3)[0], call(calls, 3)[0]] == [0, 1]


def test_callbacks_and_universal_functions(cache: pathlib.Path) -> None:
    def tripled(x: Any, y: Any) -> None:
        for i in range(x.shape[0]):
            y[i] = x[i] * 3

    found = []
    outside = contextlib.nullcontext()
    for scope in (OptionContext(FAST), outside, OptionContext(FAST), outside):
        with scope:
            callback = numba.cfunc("int64(int64)", cache=True)(scales)
            assert callback.ctypes(4) == 12
            assert (numba.vectorize(["int64(int64)"], cache=True)(scales)(ARRAY) == 3 * ARRAY).all()
            general = numba.guvectorize(["int64[:], int64[:]"], "(n)->(n)", cache=True)(tripled)
            assert (general(ARRAY) == 3 * ARRAY).all()
        found.append((callback.cache_hits, len(list(cache.rglob("*.nb?")))))
    files = found[-1][1]
    assert found == [(0, 0), (0, files), (0, files), (1, files)]
    assert files >= 6


def test_numba_names_the_line_that_makes_it_compile_outside_every_scope() -> None:
    def below(lines: int) -> str:
        return f"({__file__}:{sys._getframe(1).f_lineno + lines}) compiles outside every scope"

    function = numba.njit(scales)
    try:
        optctx.attach(outside="error")
        where = below(2)
        with pytest.raises(optctx.OutsideScopeError) as refused:
            function(1)
        assert where in str(refused.value)
        with OptionContext():
            assert function(1) == 3
        assert function(2) == 6  # it is compiled
        optctx.attach(outside="warn")
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            where = below(1)
            assert function(2.5) == 7.5
        assert [where in str(each.message) for each in found] == [True], "once for each line"
        assert (found[0].filename, found[0].category) == (__file__, optctx.OutsideScopeWarning)
    finally:
        optctx.attach(outside="allow")

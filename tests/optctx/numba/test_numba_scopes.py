"""Numba's own cache beside scopes: it is not used inside them, and keeps no code that was made in one."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

if FREE_THREADED:
    pytest.skip(NEEDS_NUMBA, allow_module_level=True)

import numba
import numpy as np
from llvmlite import binding
from llvmlite.binding.context import get_global_context

import optctx.numba
from optctx import OptionContext, contained, unbind
from optctx.errors import NumbaOptionsWarning
from tests.optctx.numba.numba_cached import code_in_memory
from tests.optctx.numba.numba_functions import chooses
from tests.support.scopes import FOLLOWS_TASKS

FAST = {"fast-isel": True}


def scales(x: int) -> int:
    return x * 3


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module", autouse=True)
def started() -> None:
    """Have Numba make its runtime functions and call its extensions, outside scopes, as it first compiles."""
    numba.njit("int64(int64)")(scales)


def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[int, str]:
    """Have Numba load or compile the function anew; how often it was found, and its code."""
    made = numba.njit(function, cache=True, **named)
    assert np.all(made(*arguments) == function(*arguments))
    return sum(made.stats.cache_hits.values()), code_in_memory(made)


def fresh(function: Callable[..., Any], *arguments: Any) -> str:
    """The code under the values in force, without a cache."""
    made = numba.njit(function)
    made(*arguments)
    return code_in_memory(made)


def test_inside_a_scope_nothing_is_loaded_or_saved(folder: pathlib.Path) -> None:
    outside = fresh(chooses, 3, 4)
    with OptionContext(FAST):
        fast = fresh(chooses, 3, 4)
        assert [call(chooses, 3, 4), call(chooses, 3, 4)] == [(0, fast), (0, fast)] != [(0, outside)] * 2
    assert not list(folder.rglob("*.nb?"))
    assert [call(chooses, 3, 4), call(chooses, 3, 4)] == [(0, outside), (1, outside)]
    files = sorted(folder.rglob("*.nb?"))
    with OptionContext(FAST):
        assert call(chooses, 3, 4) == (0, fast)
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
    assert sorted(folder.rglob("*.nb?")) == files
    assert call(chooses, 3, 4) == (1, outside)


def test_what_gives_a_generator_is_compiled_in_each_process() -> None:
    """Numba would not know the code of one that was loaded in the functions that call it."""

    def count(n: int) -> Iterator[int]:
        for each in range(n):
            yield each + 1

    for _ in range(2):
        function = optctx.numba.njit(count, cache=True, options=FAST)
        assert (list(function(3)), dict(function.stats.cache_hits)) == ([1, 2, 3], {})


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


def test_a_function_whose_helper_a_scope_compiled_is_not_kept(folder: pathlib.Path) -> None:
    """Plain Numba compiles a helper once for a process."""
    told = r"calls is not cached: Numba compiled \S*helper.* decorate \S+calls with optctx\.numba\.njit"
    for scope in (OptionContext(FAST), OptionContext()):
        calls = calls_helper_of(scope)
        with OptionContext(FAST):
            assert call(calls, 3)[0] == 0  # warnings are errors
        with pytest.warns(NumbaOptionsWarning, match=told) as found:
            call(calls, 3)
        assert [each.filename for each in found] == [__file__]

        within = numba.njit(calls)

        def deeper(x: int, function: Any = within) -> int:
            return function(x) + 1

        with pytest.warns(NumbaOptionsWarning, match="deeper is not cached: Numba compiled "):
            call(deeper, 3)
    assert not list(folder.rglob("*.nb?"))
    calls = calls_helper_of(contextlib.nullcontext())
    with OptionContext(FAST):
        assert call(calls, 3)[0] == 0
    assert [call(calls, 3)[0], call(calls, 3)[0]] == [0, 1]


def test_callbacks_and_universal_functions(folder: pathlib.Path) -> None:
    def tripled(x: Any, y: Any) -> None:
        for i in range(x.shape[0]):
            y[i] = x[i] * 3

    array = np.arange(100)
    found = []
    for scope in (
        OptionContext(FAST),
        contextlib.nullcontext(),
        OptionContext(FAST),
        contextlib.nullcontext(),
    ):
        with scope:
            callback = numba.cfunc("int64(int64)", cache=True)(scales)
            assert callback.ctypes(4) == 12
            assert (numba.vectorize(["int64(int64)"], cache=True)(scales)(array) == 3 * array).all()
            general = numba.guvectorize(["int64[:], int64[:]"], "(n)->(n)", cache=True)(tripled)
            assert (general(array) == 3 * array).all()
        found.append((callback.cache_hits, len(list(folder.rglob("*.nb?")))))
    files = found[-1][1]
    assert found == [(0, 0), (0, files), (0, files), (1, files)]
    assert files >= 6


@pytest.mark.skipif(FOLLOWS_TASKS, reason="needs a Python before 3.14: here, scopes follow their tasks")
def test_inside_a_suspended_scope_of_another_task_nothing_is_cached(folder: pathlib.Path) -> None:
    async def holds(entered: asyncio.Event, end: asyncio.Event) -> None:
        with OptionContext(FAST):
            entered.set()
            await end.wait()

    async def main() -> None:
        entered, end = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(holds(entered, end))
        await entered.wait()
        try:
            call(scales, 3)
            assert not list(folder.rglob("*.nb?"))
        finally:
            end.set()
            await task

    asyncio.run(main())


def test_numba_names_the_line_that_makes_it_compile_outside_every_scope() -> None:
    def below(lines: int) -> str:
        return f"({__file__}:{sys._getframe(1).f_lineno + lines}) compiles outside every scope"

    def compiles_in_scopes_alone(function: Any) -> None:
        optctx.attach(outside="error")
        where = below(2)
        with pytest.raises(optctx.OutsideScopeError) as refused:
            function(1)
        assert where in str(refused.value)
        with OptionContext():
            assert function(1) == 3
        assert function(2) == 6  # it is compiled

    function = numba.njit(scales)
    try:
        compiles_in_scopes_alone(function)
        optctx.attach(outside="warn")
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            where = below(1)
            assert function(2.5) == 7.5
        assert [where in str(each.message) for each in found] == [True], "once for each line"
        assert (found[0].filename, found[0].category) == (__file__, optctx.OutsideScopeWarning)
        optctx.attach(outside="error")
        optctx.numba.njit("int64(int64)", options={})(scales)
        with OptionContext():
            optctx.numba.njit("int64(int64)")(scales)
        where = below(2)
        with pytest.raises(optctx.OutsideScopeError) as refused:
            optctx.numba.njit("int64(int64)")
        assert where in str(refused.value)
    finally:
        optctx.attach(outside="allow")

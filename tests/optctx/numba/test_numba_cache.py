"""Numba's cache on disk: plain Numba loads code of other options, and `optctx.numba` does not.

Inside scopes it is not used, and it keeps no code that was made in one.
"""

from __future__ import annotations

import contextlib
import pathlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
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
from tests.optctx.numba import numba_cached
from tests.optctx.numba.numba_cached import code_in_memory, inside_and_outside, step, steps, without_optctx
from tests.optctx.numba.numba_functions import chooses
from tests.optctx.numba.numba_processes import at_once, compile_first_inside
from tests.optctx.numba.numba_processes import run as in_process

FAST = {"fast-isel": True}
ARM = {"arm-parallel-dsp-load-limit": 3}  # which no code reads that is not for ARM
SETS_FAST = ["-fast-isel=1"]

Found = list[tuple[int, str]]  # for each step: hits, machine code


def run(folder: object, *each: object, process_wide: Sequence[str] = ()) -> Found:
    """What a process finds and makes, with its cache in that folder."""
    found: Found = in_process(steps, str(folder), *each, process_wide=process_wide)
    return found


@pytest.fixture(scope="module")
def plain_numba(tmp_path_factory: pytest.TempPathFactory) -> tuple[Found, list[bool]]:
    """What a process without optctx finds and makes, and what of optctx is there."""
    folders = [str(tmp_path_factory.mktemp("plain")) for _ in range(2)]
    found: tuple[Found, list[bool]] = in_process(without_optctx, *folders)
    return found


@pytest.fixture(scope="module")
def codes(plain_numba: Any) -> tuple[str, str]:
    """Machine code without options and with fast-isel, as plain Numba makes it without finding any.

    Plain Numba loads code of other options, in both directions: the fault that the other tests show to be
    gone. If Numba mends it, the second pair of assertions is to be taken away.
    """
    (plain, found_plain), (fast, found_fast) = (plain_numba[0][:2], plain_numba[0][2:])
    assert (plain[0], fast[0]) == (0, 0)
    assert (found_plain, found_fast) == ((1, plain[1]), (1, fast[1]))
    assert plain[1] != fast[1]
    return plain[1], fast[1]


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


def test_a_process_that_does_not_use_optctx_has_numba_as_it_is(plain_numba: Any) -> None:
    assert plain_numba[1] == [True, False, False, False, False]


def test_entries_are_found_under_the_options_that_they_read(cache: pathlib.Path, codes: Any) -> None:
    """Those of functions with options and those of plain Numba are kept apart; scopes find and keep none."""
    plain, fast = codes
    assert run(cache, "plain") == [(0, plain)]  # in a process without optctx
    written = {path: path.read_bytes() for path in cache.rglob("*.nb?")}
    assert [step(each) for each in ({}, FAST, {}, FAST, {**FAST, **ARM})] == [
        *((0, plain), (0, fast), (1, plain), (1, fast), (1, fast))
    ]
    assert [step({"scope": each}) for each in (FAST, FAST, {})] == [(0, fast), (0, fast), (0, plain)]
    # In another process, which was told the same in another way.
    others: tuple[Mapping[str, object], ...] = (
        {},
        {"fast-isel": False},
        ARM,
        {"scope": {"fast-isel": False}},
    )
    assert run(cache, *others, process_wide=SETS_FAST) == [(1, fast), (0, plain), (1, fast), (0, plain)]
    assert run(cache, "plain") == [(1, plain)]
    assert {path: path.read_bytes() for path in written} == written


def test_processes_with_different_options_write_at_once(cache: pathlib.Path, codes: Any) -> None:
    """Numba's index files lose entries then. None may lead to the code of another one."""
    plain, fast = codes
    each = [partial(steps, str(cache), options) for options in (FAST, {"fast-isel": False})]
    assert [code for [[_, code]] in at_once(*each)] == [fast, plain]
    assert step(FAST)[1] == fast  # in this process


def test_the_first_compilation_of_a_process_may_be_in_a_scope(cache: pathlib.Path) -> None:
    compile_first_inside(folder=str(cache))
    # In this process, where Numba was there before.
    [_, fast], _, [_, plain] = found = inside_and_outside()
    assert fast != plain
    assert found == [(0, fast), (0, fast), (1, plain)]


def test_a_caller_of_functions_with_other_options_is_not_cached(cache: pathlib.Path) -> None:
    inner = optctx.numba.njit(options=FAST)(numba_cached.is_special.py_func)

    def outer(value: int) -> bool:
        return inner(value)

    with pytest.warns(NumbaWarning, match='"outer" as it calls a function that has LLVM options of its own'):
        optctx.numba.njit(outer, cache=True, options={})(3)
    with pytest.warns(NumbaWarning, match='Cannot cache compiled function "outer"'):
        numba.njit(outer, cache=True)(3)
    assert not list(cache.rglob("*.nbc"))


# Inside scopes


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


def test_inside_a_scope_nothing_is_loaded_or_saved(cache: pathlib.Path) -> None:
    outside = fresh(chooses, 3, 4)
    with OptionContext(FAST):
        fast = fresh(chooses, 3, 4)
        assert [call(chooses, 3, 4), call(chooses, 3, 4)] == [(0, fast), (0, fast)] != [(0, outside)] * 2
    assert not list(cache.rglob("*.nb?"))
    assert [call(chooses, 3, 4), call(chooses, 3, 4)] == [(0, outside), (1, outside)]
    files = sorted(cache.rglob("*.nb?"))
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
    assert not list(cache.rglob("*.nb?"))
    calls = calls_helper_of(contextlib.nullcontext())
    with OptionContext(FAST):
        assert call(calls, 3)[0] == 0
    assert [call(calls, 3)[0], call(calls, 3)[0]] == [0, 1]


def test_callbacks_and_universal_functions(cache: pathlib.Path) -> None:
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
        found.append((callback.cache_hits, len(list(cache.rglob("*.nb?")))))
    files = found[-1][1]
    assert found == [(0, 0), (0, files), (0, files), (1, files)]
    assert files >= 6


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
    finally:
        optctx.attach(outside="allow")

"""Numba's own cache beside scopes: code that a scope made is loaded only where LLVM would make the same."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
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
from numba.core import caching
from numba.core.errors import TypingError

import optctx.numba
from optctx import OptionContext, contained, plain_numba
from optctx.errors import NumbaOptionsWarning
from tests.optctx.numba.numba_cached import code_in_memory
from tests.optctx.numba.numba_functions import chooses
from tests.support.scopes import FOLLOWS_TASKS

FAST = {"fast-isel": True}
ARM = {"arm-parallel-dsp-load-limit": 3}  # which no code reads that is not for ARM
TESTS = {"min-bit-test-cmps": 100}


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


def scope(options: dict[str, Any] | None) -> contextlib.AbstractContextManager[Any]:
    return contextlib.nullcontext() if options is None else OptionContext(options)


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


def test_each_scope_finds_the_code_of_the_options_that_are_read() -> None:
    outside = fresh(chooses, 3, 4)
    with OptionContext(FAST):
        fast = fresh(chooses, 3, 4)
    with OptionContext(TESTS):
        tests = fresh(chooses, 3, 4)
        with OptionContext(FAST):
            both = fresh(chooses, 3, 4)
    assert len({outside, fast, tests, both}) == 4
    for hits in (0, 1):
        assert call(chooses, 3, 4) == (hits, outside)
        with OptionContext(FAST):
            assert call(chooses, 3, 4) == (hits, fast)
            with OptionContext(ARM):
                assert call(chooses, 3, 4) == (1, fast)
            with OptionContext({"fast-isel": False}):
                assert call(chooses, 3, 4)[1] == outside
        with OptionContext(TESTS):
            assert call(chooses, 3, 4) == (hits, tests)
            with OptionContext(FAST):
                assert call(chooses, 3, 4) == (hits, both)
    with contained():
        assert call(chooses, 3, 4)[1] == outside
        binding.set_option("", "-fast-isel")
        assert call(chooses, 3, 4)[1] == fast, "what is set inside is part of the key"
    assert call(chooses, 3, 4) == (1, outside)


def test_what_gives_a_generator_is_compiled_in_each_process() -> None:
    """Numba would not know the code of one that was loaded in the functions that call it."""

    def count(n: int) -> Iterator[int]:
        for each in range(n):
            yield each + 1

    made: list[Any] = [numba.njit(count, cache=True) for _ in range(2)]
    with OptionContext(FAST):
        own = [optctx.numba.njit(count, cache=True, options=FAST) for _ in range(2)]
        for function in (*made, *own):
            assert (list(function(3)), dict(function.stats.cache_hits)) == ([1, 2, 3], {})


def helper_in(options: dict[str, Any] | None) -> Callable[[int], int]:
    """A function that calls one that Numba compiled in a scope of these options."""

    @numba.njit
    def helper(x: int) -> bool:
        return x == 1 or x == 14 or x == 29

    with scope(options):
        helper(3)

    def calls(x: int) -> int:
        return helper(x) + 1

    return calls


def test_code_with_a_helper_is_cached_if_that_has_the_same_options(folder: pathlib.Path) -> None:
    """Plain Numba compiles a helper once for a process. One that is not cached has its code as its key."""
    for made, called in ((FAST, None), (None, FAST), (TESTS, FAST)):
        function = helper_in(made)
        told = pytest.warns(NumbaOptionsWarning, match="calls is not cached: Numba compiled helper")
        with scope(called), told:
            call(function, 3)
        assert not list(folder.rglob("*.nb?")), (made, called)
    for made, called in ((FAST, FAST), ({}, None), (None, None)):
        function = helper_in(made)
        with scope(called):
            assert [call(function, 3)[0], call(function, 3)[0]] == [0, 1], (made, called)


def test_an_empty_scope_warns_only_of_what_a_scope_with_other_values_made(folder: pathlib.Path) -> None:
    def sums(array: Any) -> int:
        return array.sum()

    numba.njit(sums)(np.arange(3))  # what NumPy's function is compiled to is from outside, too
    for empty in (OptionContext(), OptionContext(base="defaults"), contained()):
        function = helper_in(None)
        with empty:  # warnings are errors here
            assert call(function, 3)[0] == 0
            assert call(sums, np.arange(3))[0] == 0
    function = helper_in(FAST)
    remedy = r"calls is not cached: Numba compiled helper.* decorate \S+calls with optctx\.numba\.njit"
    with OptionContext(), pytest.warns(NumbaOptionsWarning, match=remedy) as told:
        call(function, 3)
    assert [each.filename for each in told] == [__file__]
    function = helper_in(None)
    with OptionContext(TESTS), pytest.warns(NumbaOptionsWarning, match=remedy):
        call(function, 3)

    def both(x: int) -> int:
        return function(x) + outside(x)

    function, outside = (numba.njit(helper_in(made)) for made in (FAST, None))
    function(3), outside(3)
    with OptionContext(), pytest.warns(NumbaOptionsWarning, match="both is not cached"):
        call(both, 3)
    assert not list(folder.rglob("*.nb?"))


def test_a_helper_that_read_the_same_values_is_cached_in_its_callers() -> None:
    @numba.njit
    def helper(x: int) -> bool:
        return x == 1 or x == 14 or x == 29

    def first(x: int) -> int:
        return helper(x) + 1

    def second(x: int) -> int:
        return helper(x) + 2

    with OptionContext(ARM):
        assert call(first, 3)[0] == 0
    assert [call(second, 3)[0], call(second, 3)[0]] == [0, 1]
    with OptionContext(FAST), pytest.warns(NumbaOptionsWarning, match="second is not cached"):
        call(second, 3)


CHANGES_RUNTIME = {"capture-tracking-max-uses-to-explore": 0}


@pytest.mark.llvm22
def test_numbas_runtime_functions_are_those_of_the_scope(folder: pathlib.Path) -> None:
    """Numba makes them once for a process, here outside scopes, and links them into every function."""
    with OptionContext(CHANGES_RUNTIME):
        assert [call(scales, 3)[0], call(scales, 3)[0]] == [0, 1]
    files = len(list(folder.rglob("*.nb?")))
    function = helper_in(CHANGES_RUNTIME)  # not cached itself, so it has those from outside
    told = pytest.warns(NumbaOptionsWarning, match="calls is not cached: Numba compiled nrt")
    with OptionContext(CHANGES_RUNTIME), told:
        call(function, 3)
    assert len(list(folder.rglob("*.nb?"))) == files


def test_callbacks_and_universal_functions(folder: pathlib.Path) -> None:
    def tripled(x: Any, y: Any) -> None:
        for i in range(x.shape[0]):
            y[i] = x[i] * 3

    array = np.arange(100)
    found = []
    for options in (FAST, None, FAST, None, TESTS):
        with scope(options):
            callback = numba.cfunc("int64(int64)", cache=True)(scales)
            assert callback.ctypes(4) == 12
            assert (numba.vectorize(["int64(int64)"], cache=True)(scales)(array) == 3 * array).all()
            general = numba.guvectorize(["int64[:], int64[:]"], "(n)->(n)", cache=True)(tripled)
            assert (general(array) == 3 * array).all()
        found.append((callback.cache_hits, len(list(folder.rglob("*.nb?")))))
    assert [hits for hits, _ in found] == [0, 0, 1, 1, 0]
    first, second, third, fourth, last = (files for _, files in found)
    assert first < second == third == fourth < last


class OtherCache:
    """A cache of a program's own."""

    cache_path = ""
    calls: list[str]

    def __init__(self) -> None:
        self.calls = []

    def load_overload(self, sig: Any, target_context: Any) -> None:
        self.calls.append("load")

    def save_overload(self, sig: Any, data: Any) -> None:
        self.calls.append("save")


class OwnMethods(caching.FunctionCache):  # type: ignore[misc]
    """A cache that loads in its own way."""

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        return super()._load_overload(sig, target_context)


def test_a_cache_of_another_kind_is_used_outside_alone(folder: pathlib.Path) -> None:
    for cache in (OtherCache(), OwnMethods(chooses)):
        function = numba.njit(chooses)
        function._cache = cache
        with OptionContext(FAST):
            kind = type(cache).__name__
            with pytest.warns(
                NumbaOptionsWarning, match=f"chooses is not cached: the keys of a {kind} cannot"
            ):
                function(3, 4)
            assert function._cache is cache
            assert not list(folder.rglob("*.nb?"))
        assert getattr(cache, "calls", []) == []
        function(3.5, 4)
        assert function._cache is cache
    assert list(folder.rglob("*.nbc"))
    other = numba.njit(helper_in(FAST))
    other._cache = OtherCache()
    with pytest.warns(NumbaOptionsWarning, match="calls is not cached: Numba compiled helper"):
        other(3)
    assert other._cache.calls == ["load"]


def test_what_is_no_library_of_numbas_processor_is_not_cached_inside() -> None:
    """As kernels of numba.cuda."""
    cache = caching.FunctionCache(chooses)
    with OptionContext(FAST), pytest.warns(NumbaOptionsWarning, match="chooses is not cached: the keys of a"):
        cache.save_overload((), object())


def test_a_file_that_holds_another_entry_is_a_miss(folder: pathlib.Path) -> None:
    """As where two processes save at once, and choose the same name for a file."""
    with OptionContext(FAST):
        fast = call(chooses, 3, 4)
    with OptionContext(TESTS):
        tests = call(chooses, 3, 4)
    [first], [last] = (list(folder.rglob(f"*-scope.{number}.nbc")) for number in (1, 2))
    last.write_bytes(first.read_bytes())
    with OptionContext(TESTS):
        assert call(chooses, 3, 4) == tests
    with OptionContext(FAST):
        assert call(chooses, 3, 4) == (1, fast[1])


HELPED = """
import numba
@numba.njit
def helper(x): return x {operator} 3
def calls(x): return helper(x)
"""


def test_a_process_that_was_killed_leaves_no_code_of_an_older_source(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had written the index, and not yet the code: the file of that name has code of the helper before."""
    monkeypatch.syspath_prepend(folder)

    def calls(text: str) -> Any:
        file = folder / "helped.py"
        file.write_text(text)
        sys.modules.pop("helped", None)
        for path in folder.rglob("*.pyc"):
            path.unlink()
        return importlib.import_module("helped").calls

    with OptionContext(FAST):
        assert numba.njit(calls(HELPED.format(operator="+")), cache=True)(2) == 5
        with monkeypatch.context() as killed:
            killed.setattr(caching.IndexDataCacheFile, "_save_data", lambda *_: None)
            assert numba.njit(calls(HELPED.format(operator="** ")), cache=True)(2) == 8
        assert numba.njit(calls(HELPED.format(operator="** ")), cache=True)(2) == 8


def test_signatures_are_kept_apart_until_recompiling_forgets_what_scopes_made() -> None:
    with OptionContext(FAST):
        assert [call(scales, x)[0] for x in (3, 3.5, 3, 3.5)] == [0, 0, 1, 1]
    numba.njit(scales, cache=True).recompile()
    with OptionContext(FAST):
        assert call(scales, 3)[0] == 0


@pytest.mark.skipif(FOLLOWS_TASKS, reason="needs a Python before 3.14: here, scopes follow their tasks")
def test_inside_a_suspended_scope_of_another_task_nothing_is_cached() -> None:
    async def holds(entered: asyncio.Event, end: asyncio.Event) -> None:
        with OptionContext(FAST):
            entered.set()
            await end.wait()

    async def main() -> None:
        entered, end = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(holds(entered, end))
        await entered.wait()
        try:
            with pytest.warns(NumbaOptionsWarning, match="scales is not cached"):
                call(scales, 3)
        finally:
            end.set()
            await task

    asyncio.run(main())


def test_a_compilation_that_fails_leaves_nothing_behind() -> None:
    def wrong(x: Any) -> Any:
        return x.nothing

    with OptionContext(FAST), pytest.raises(TypingError):
        numba.njit(wrong, cache=True)(3)
    with OptionContext(FAST):
        assert [call(scales, 3)[0], call(scales, 3)[0]] == [0, 1]


def test_a_numba_that_is_not_as_expected_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(caching.Cache, "_load_overload")
    with pytest.warns(NumbaOptionsWarning, match="this Numba is not as expected .*_load_overload"):
        plain_numba.init()


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

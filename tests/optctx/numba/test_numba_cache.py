"""Numba's cache on disk: plain Numba loads code of other options, and `optctx.numba` does not."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

if FREE_THREADED:
    pytest.skip(NEEDS_NUMBA, allow_module_level=True)

import numba
from numba.core.errors import NumbaWarning

import optctx.numba
from optctx.errors import NumbaOptionsWarning
from tests.optctx.numba import numba_cached
from tests.optctx.numba.numba_cached import inside_and_outside, step, steps, without_optctx
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


@pytest.fixture
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


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


def test_a_helper_that_was_compiled_with_another_content_of_a_file_keeps_its_callers_out(
    cache: pathlib.Path,
) -> None:
    file = cache / "attributes.csv"
    file.write_text("")
    compiled = optctx.numba.njit("int64(int64)", cache=True, options={"forceattrs-csv-path": str(file)})
    helper = compiled(lambda x: 2 * x)
    kept = {*cache.rglob("*.nbc")}
    assert len(kept) == 1
    file.write_text("\n")
    with pytest.warns(NumbaOptionsWarning, match="is not cached: a file that an option names, or"):
        compiled(lambda x: helper(x) + 1)
    assert {*cache.rglob("*.nbc")} == kept

"""Numba's cache on disk: plain Numba loads code of other options, and `optctx.numba` does not."""

from __future__ import annotations

import ast
import pathlib
import tempfile
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

if FREE_THREADED:
    pytest.skip(NEEDS_NUMBA, allow_module_level=True)

import numba
from numba.core.errors import NumbaWarning

import optctx.numba
from tests.optctx.numba import numba_cached
from tests.optctx.numba.numba_cached import inside_and_outside, steps, taking_turns, unused
from tests.optctx.numba.numba_processes import at_once
from tests.optctx.numba.numba_processes import run as in_process
from tests.support.processes import run_python

pytestmark = pytest.mark.redirected

FAST = {"fast-isel": True}
ARM = {"arm-parallel-dsp-load-limit": 3}  # which no code reads that is not for ARM
SETS_FAST = ["-fast-isel=1"]

Found = list[tuple[int, str]]  # for each step: hits, machine code


def run(folder: object, *each: object, process_wide: Sequence[str] = ()) -> Found:
    """What a process finds and makes, with its cache in that folder."""
    found: Found = in_process(steps, str(folder), *each, process_wide=process_wide)
    return found


@pytest.fixture(scope="module")
def codes() -> tuple[str, str]:
    """Machine code without options and with fast-isel, as plain Numba makes it without finding any.

    Plain Numba loads code of other options, in both directions: the fault that the other tests show to be
    gone. If Numba mends it, the second pair of assertions is to be taken away.
    """
    found = []
    for first, second in (([], SETS_FAST), (SETS_FAST, [])):
        with tempfile.TemporaryDirectory() as folder:
            [(hits, code)] = run(folder, "plain", process_wide=first)
            assert hits == 0
            assert run(folder, "plain", process_wide=second) == [(1, code)]
        found.append(code)
    plain, fast = found
    assert plain != fast
    return plain, fast


def test_functions_with_options_are_found_under_the_options_that_they_read(
    tmp_path: pathlib.Path, codes: Any
) -> None:
    """Files of plain Numba stay valid, and are not read."""
    plain, fast = codes
    assert run(tmp_path, "plain") == [(0, plain)]
    written = {path: path.read_bytes() for path in tmp_path.rglob("*.nb?")}
    assert run(tmp_path, {}, FAST, {}, FAST, {**FAST, **ARM}, "plain") == [
        *((0, plain), (0, fast), (1, plain)),
        *((1, fast), (1, fast), (1, plain)),
    ]
    # In another process, which was told the same in another way.
    assert run(tmp_path, {}, {"fast-isel": False}, ARM, process_wide=SETS_FAST) == [
        *((1, fast), (0, plain), (1, fast))
    ]
    assert {path: path.read_bytes() for path in written} == written


def test_a_scope_around_plain_numba_has_entries_of_its_own(tmp_path: pathlib.Path, codes: Any) -> None:
    plain, fast = codes
    assert run(tmp_path, {"scope": FAST}) == [(0, fast)]
    assert run(tmp_path, "plain") == [(0, plain)]  # in a process without optctx
    written = {path: path.read_bytes() for path in tmp_path.rglob("*.nb?") if "optctx" not in path.name}
    assert run(tmp_path, {"scope": {**FAST, **ARM}}) == [(1, fast)]
    assert run(tmp_path, {"scope": {"fast-isel": False}}, process_wide=SETS_FAST) == [(0, plain)]
    assert run(tmp_path, "plain") == [(1, plain)]
    assert {path: path.read_bytes() for path in written} == written


def test_processes_in_different_scopes_write_at_once(tmp_path: pathlib.Path, codes: Any) -> None:
    """Numba's index files lose entries then. None may lead to the code of another one."""
    plain, fast = codes
    each = [partial(steps, str(tmp_path), {"scope": options}) for options in (FAST, {"fast-isel": False})]
    found = at_once(*each) + at_once(*each)
    assert [code for [[_, code]] in found] == [fast, plain, fast, plain]


# Numba is imported after optctx, and calls its extensions in the middle of its first compilation.
FIRST_INSIDE = """
    import sys
    import optctx

    optctx.attach()
    assert "numba" not in sys.modules
    from tests.optctx.numba.numba_cached import inside_and_outside
    print(inside_and_outside(sys.argv[1]))
"""


def test_the_first_compilation_of_a_process_may_be_in_a_scope(tmp_path: pathlib.Path) -> None:
    first = ast.literal_eval(run_python(FIRST_INSIDE, str(tmp_path)))
    [_, fast], _, [_, plain] = first
    assert fast != plain
    assert first == [(0, fast), (1, fast), (0, plain)]
    # In another process, where Numba was there before.
    assert in_process(inside_and_outside, str(tmp_path)) == [(1, fast), (1, fast), (1, plain)]


def test_where_threads_take_turns_nothing_is_kept_and_options_are_refused(tmp_path: pathlib.Path) -> None:
    """Numba's machine keeps what a scope sets in it."""
    told, refused = in_process(taking_turns, str(tmp_path), OPTCTX_ENGINE="exclusive")
    why = "chooses is not cached: it is unknown under which LLVM options Numba compiled it"
    assert told == [why, why]
    assert not list(tmp_path.rglob("*.nb?"))
    assert refused.startswith("cannot compile Numba functions under OptionContext({'unroll-count': 2}): ")


def test_a_process_that_does_not_use_optctx_has_numba_as_it_is() -> None:
    assert in_process(unused) == [True, False, False, False, False]


def test_a_file_that_holds_another_entry_is_a_miss(tmp_path: pathlib.Path, codes: Any) -> None:
    """As where two processes save at once, and choose the same name for a file."""
    plain, fast = codes
    assert run(tmp_path, {}, FAST) == [(0, plain), (0, fast)]
    [first], [last] = (list(tmp_path.rglob(f"*-optctx.{number}.nbc")) for number in (1, 2))
    last.write_bytes(first.read_bytes())
    assert run(tmp_path, {}, FAST) == [(1, plain), (0, fast)]


@pytest.fixture
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def test_a_caller_of_functions_with_other_options_is_not_cached(cache: pathlib.Path) -> None:
    inner = optctx.numba.njit(options=FAST)(numba_cached.is_special.py_func)

    def outer(value: int) -> bool:
        return inner(value)

    with pytest.warns(NumbaWarning, match='"outer" as it calls a function that has LLVM options of its own'):
        optctx.numba.njit(outer, cache=True, options={})(3)
    with pytest.warns(NumbaWarning, match='Cannot cache compiled function "outer"'):
        numba.njit(outer, cache=True)(3)
    assert not list(cache.rglob("*.nbc"))


def test_callbacks_and_universal_functions_are_cached(cache: pathlib.Path) -> None:
    def twice(x: int) -> int:
        return 2 * x

    for hits in (0, 1):
        callback = optctx.numba.cfunc("int64(int64)", cache=True, options=FAST)(twice)
        assert (callback.cache_hits, callback.ctypes(21)) == (hits, 42)
    other = optctx.numba.cfunc("int64(int64)", cache=True, options={})(twice)
    assert other.cache_hits == 0
    for _ in range(2):
        universal = optctx.numba.vectorize(["int64(int64)"], cache=True, options=FAST)(twice)
        assert universal(numba_cached.array).sum() == 2 * numba_cached.array.sum()

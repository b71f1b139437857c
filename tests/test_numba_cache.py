"""Numba's cache on disk: plain Numba loads code of other options, and `optctx.numba` does not."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import sys
import tempfile
from typing import Any

import pytest

if sys.version_info >= (3, 14):
    pytest.skip("Numba is installed before Python 3.14", allow_module_level=True)

import numba
import numba_cached
from numba.core.errors import NumbaWarning
from support import python_process

import optctx.numba

pytestmark = pytest.mark.redirected

FAST = {"fast-isel": True}
ARM = {"arm-parallel-dsp-load-limit": 3}  # which no code reads that is not for ARM
SETS_FAST = ["-fast-isel=1"]

Found = list[list[Any]]  # for each step: hits, machine code


def run(folder: object, *steps: object, process_wide: list[str] | None = None) -> Found:
    """What a process finds and makes, with its cache in that folder."""
    before = os.environ.get("NUMBA_CACHE_DIR")
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    try:
        done = python_process("numba_cached.py", json.dumps(process_wide or []), json.dumps(steps))
    finally:
        os.environ.pop("NUMBA_CACHE_DIR") if before is None else os.environ.update(NUMBA_CACHE_DIR=before)
    assert (done.returncode, done.stderr) == (0, "")
    found: Found = json.loads(done.stdout)
    return found


@functools.cache
def codes() -> tuple[str, str]:
    """Machine code without options and with fast-isel, as plain Numba makes it without finding any."""
    found = []
    for process_wide in ([], SETS_FAST):
        with tempfile.TemporaryDirectory() as folder:
            [[hits, code]] = run(folder, "plain", process_wide=process_wide)
        assert hits == 0
        found.append(code)
    plain, fast = found
    assert plain != fast
    return plain, fast


def test_plain_numba_loads_code_of_other_options_in_both_directions(tmp_path: pathlib.Path) -> None:
    """The fault that the other tests show to be gone. If Numba mends it, this test is to be taken away."""
    plain, fast = codes()
    run(tmp_path / "1", "plain")
    assert run(tmp_path / "1", "plain", process_wide=SETS_FAST) == [[1, plain]]
    run(tmp_path / "2", "plain", process_wide=SETS_FAST)
    assert run(tmp_path / "2", "plain") == [[1, fast]]


def test_functions_with_options_are_found_under_the_options_that_they_read(tmp_path: pathlib.Path) -> None:
    plain, fast = codes()
    assert run(tmp_path, {}, FAST, {}, FAST, {**FAST, **ARM}) == [
        *([0, plain], [0, fast], [1, plain]),
        *([1, fast], [1, fast]),
    ]
    # In another process, which was told the same in another way.
    assert run(tmp_path, {}, {"fast-isel": False}, ARM, process_wide=SETS_FAST) == [
        *([1, fast], [0, plain], [1, fast])
    ]


def test_files_of_plain_numba_stay_valid_and_are_not_read(tmp_path: pathlib.Path) -> None:
    plain, fast = codes()
    assert run(tmp_path, "plain") == [[0, plain]]
    written = {path: path.read_bytes() for path in tmp_path.rglob("*.nb?")}
    assert run(tmp_path, FAST, {}, "plain") == [[0, fast], [0, plain], [1, plain]]
    assert {path: path.read_bytes() for path in written} == written
    assert len(list(tmp_path.rglob("*.nb?"))) > len(written)


def test_a_file_that_holds_another_entry_is_a_miss(tmp_path: pathlib.Path) -> None:
    """As where two processes save at once, and choose the same name for a file."""
    plain, fast = codes()
    assert run(tmp_path, {}, FAST) == [[0, plain], [0, fast]]
    [first], [last] = (list(tmp_path.rglob(f"*-optctx.{number}.nbc")) for number in (1, 3))
    last.write_bytes(first.read_bytes())
    assert run(tmp_path, {}, FAST) == [[1, plain], [0, fast]]


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

"""Numba's cache on disk: plain Numba loads code of other options, and `optctx.numba` does not."""

from __future__ import annotations

import functools
import json
import pathlib
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

if sys.version_info >= (3, 14):
    pytest.skip("needs Numba, which is installed before Python 3.14", allow_module_level=True)

import numba
import numba_cached
from numba.core.errors import NumbaWarning
from support import python_process, run_python

import optctx.numba

pytestmark = pytest.mark.redirected

FAST = {"fast-isel": True}
ARM = {"arm-parallel-dsp-load-limit": 3}  # which no code reads that is not for ARM
SETS_FAST = ["-fast-isel=1"]

Found = list[list[Any]]  # for each step: hits, machine code


def run(folder: object, *steps: object, process_wide: list[str] | None = None) -> Found:
    """What a process finds and makes, with its cache in that folder."""
    arguments = [str(folder), json.dumps(process_wide or []), json.dumps(steps)]
    done = python_process(str(pathlib.Path(__file__).with_name("numba_cached.py")), *arguments)
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


def test_a_scope_around_plain_numba_has_entries_of_its_own(tmp_path: pathlib.Path) -> None:
    plain, fast = codes()
    assert run(tmp_path, {"scope": FAST}) == [[0, fast]]
    assert run(tmp_path, "plain") == [[0, plain]]  # in a process without optctx
    written = {path: path.read_bytes() for path in tmp_path.rglob("*.nb?") if "optctx" not in path.name}
    assert run(tmp_path, {"scope": {**FAST, **ARM}}) == [[1, fast]]
    assert run(tmp_path, {"scope": {"fast-isel": False}}, process_wide=SETS_FAST) == [[0, plain]]
    assert run(tmp_path, "plain") == [[1, plain]]
    assert {path: path.read_bytes() for path in written} == written


def test_processes_in_different_scopes_write_at_once(tmp_path: pathlib.Path) -> None:
    """Numba's index files lose entries then. None may lead to the code of another one."""
    plain, fast = codes()
    scopes = [FAST, {"fast-isel": False}]
    with ThreadPoolExecutor(len(scopes)) as pool:
        found = list(pool.map(lambda options: run(tmp_path, {"scope": options}), scopes))
    found += [run(tmp_path, {"scope": options}) for options in scopes]
    assert [code for [[_, code]] in found] == [fast, plain, fast, plain]


# Numba is imported after optctx, and calls its extensions in the middle of its first compilation.
FIRST_INSIDE = """
    import json, sys
    import optctx

    inside = optctx.OptionContext({"fast-isel": True})
    assert "numba" not in sys.modules
    import numba
    from numba_cached import chooses, machine_code

    def compiled():
        made = numba.njit("int64(int64, int64)", cache=True)(chooses)
        return sum(made.stats.cache_hits.values()), machine_code(made)

    print(json.dumps([inside.run(compiled), inside.run(compiled), compiled()]))
"""


def test_the_first_compilation_of_a_process_may_be_in_a_scope(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    first, second = (json.loads(run_python(FIRST_INSIDE)) for _ in range(2))
    [_, fast], _, [_, plain] = first
    assert fast != plain
    assert first == [[0, fast], [1, fast], [0, plain]]
    assert second == [[1, fast], [1, fast], [1, plain]]


TAKING_TURNS = """
    import json, warnings
    import numba
    import optctx
    from numba_cached import chooses

    warnings.simplefilter("always")
    with warnings.catch_warnings(record=True) as told:
        optctx.OptionContext({"fast-isel": True}).run(numba.njit(chooses, cache=True), 3, 4)
        numba.njit(chooses, cache=True)(3, 4)
    print(json.dumps([str(each.message) for each in told]))
"""


def test_where_threads_take_turns_nothing_is_kept(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba's machine keeps what a scope sets in it."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("OPTCTX_ENGINE", "exclusive")
    why = "chooses is not cached: it is unknown under which LLVM options Numba compiled it"
    assert json.loads(run_python(TAKING_TURNS)) == [why, why]
    assert not list(tmp_path.rglob("*.nb?"))


UNUSED = """
    import sys
    import numba
    from numba.core import caching, codegen, dispatcher
    from numba_cached import array, loops

    numba.njit(loops)(array)
    print("optctx_numba" in sys.modules, "optctx" in sys.modules)
    print(hasattr(caching.Cache._load_overload, "__wrapped__"))
    print(hasattr(codegen.CPUCodeLibrary.finalize, "__wrapped__"))
    print(hasattr(dispatcher.Dispatcher.compile, "_optctx"))
"""


def test_a_process_that_does_not_use_optctx_has_numba_as_it_is() -> None:
    assert run_python(UNUSED).split() == ["True", "False", *["False"] * 3]


def test_a_file_that_holds_another_entry_is_a_miss(tmp_path: pathlib.Path) -> None:
    """As where two processes save at once, and choose the same name for a file."""
    plain, fast = codes()
    assert run(tmp_path, {}, FAST) == [[0, plain], [0, fast]]
    [first], [last] = (list(tmp_path.rglob(f"*-optctx.{number}.nbc")) for number in (1, 2))
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

"""Tests whose body runs in a child: what comes back, what ends it, and the examples of the guide."""

from __future__ import annotations

import ctypes
import doctest
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, note, reject, seed, settings
from hypothesis import strategies as st

import optctx.testing.forked
import optctx.testing.option
import optctx.testing.override
import optctx.testing.value
from optctx.errors import OptctxError
from optctx.testing import CrashError, HangError, crash_proof
from tests.project.pages import ROOT, programs

PAGE = ROOT / "docs/guide/property-tests.md"


def crash() -> None:
    ctypes.string_at(0)


def hang() -> None:
    while True:
        time.sleep(1)


class LocalError(Exception):
    """What cannot be pickled as it is: its arguments are not those of its class."""

    def __init__(self, left: int, right: int) -> None:
        super().__init__(f"{left} {right}")
        self.lock = threading.Lock()


def test_results_and_changes(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[int] = []

    @crash_proof
    def body(number: int, *, more: int) -> dict[str, int]:
        seen.append(number)
        print("printed in the child")
        return {"sum": number + more}

    assert body(1, more=2) == {"sum": 3}
    assert seen == []
    assert capsys.readouterr().out == "printed in the child\n"
    with pytest.raises(OptctxError, match=r"cannot bring the result of .* back"):
        crash_proof(threading.Lock)()


@pytest.mark.parametrize(
    ("work", "error", "words"),
    [
        (crash, CrashError, "crash ended its process: killed by SIGSEGV"),
        (os.abort, CrashError, "abort ended its process: killed by SIGABRT"),
        (lambda: os._exit(3), CrashError, "ended its process: exited with status 3"),
        (hang, HangError, "hang took longer than 1 s"),
        (lambda: bytearray(3 << 30), MemoryError, None),
    ],
)
def test_each_end_of_the_child_is_an_exception(
    work: Callable[[], object], error: type[BaseException], words: str | None
) -> None:
    with pytest.raises(error, match=words):
        crash_proof(timeout=1 if work is hang else 60, memory=1 << 30)(work)()


def test_what_the_body_raises_comes_back_with_its_place() -> None:
    class OwnError(KeyError):
        pass

    def raising() -> None:
        raise OwnError(3)  # here

    with pytest.raises(OwnError, match="3") as caught:
        crash_proof(raising)()
    assert caught.traceback[-1].name == "raising"
    assert str(caught.traceback[-1].statement).strip() == "raise OwnError(3)  # here"

    def unpicklable() -> None:
        raise LocalError(1, 2)

    with pytest.raises(Exception, match="LocalError: 1 2"):
        crash_proof(unpicklable)()
    with pytest.raises(pytest.skip.Exception, match="not today"):
        crash_proof(pytest.skip)("not today")


def test_hypothesis_tells_failures_apart_and_shrinks_each() -> None:
    @settings(derandomize=True, database=None)
    @given(st.integers(0, 1000))
    @crash_proof
    def fails(number: int) -> None:
        assume(number != 5)
        if number > 900:
            reject()
        note(f"noted {number}")
        assert number < 100
        assert number != 0

    with pytest.raises(ExceptionGroup) as caught:
        fails()
    found = caught.value.exceptions
    notes = "\n".join(line for each in found for line in each.__notes__)
    assert len(found) == 2
    assert "number=100" in notes
    assert "number=0" in notes
    assert "noted 100" in notes


@pytest.mark.parametrize("above", [True, pytest.param(False, marks=pytest.mark.long)])
def test_the_decorator_stands_above_or_below_given(above: bool) -> None:
    def body(number: int) -> None:
        if number > 100:
            crash()

    drawn = given(st.integers(0, 1000))
    test = crash_proof(drawn(body)) if above else drawn(crash_proof(body))
    with pytest.raises(CrashError, match="killed by SIGSEGV") as caught:
        settings(derandomize=True, database=None)(test)()
    notes = "\n".join(caught.value.__notes__)
    assert "number=101" in notes
    assert notes.count("Fatal Python error") == 1
    assert "pytest" not in caught.value.__notes__[0], "the stack ends with the test"


@pytest.mark.parametrize("drawn", [st.data(), st.functions(like=lambda: None, returns=st.integers())])
def test_draws_in_the_body_are_refused(drawn: st.SearchStrategy[Any]) -> None:
    @settings(derandomize=True, database=None)
    @given(drawn)
    @crash_proof
    def draws(source: Any) -> None:
        source.draw(st.integers()) if hasattr(source, "draw") else source()

    with pytest.raises(OptctxError, match="cannot draw inside crash_proof"):
        draws()


def test_bad_arguments_are_one_error() -> None:
    async def later() -> None:
        pass

    with pytest.raises(OptctxError, match="whose body runs when it is called"):
        crash_proof(later)
    with pytest.raises(OptctxError, match="expected a timeout above 0"):
        crash_proof(timeout=0)
    with pytest.raises(OptctxError, match="bytes of memory"):
        crash_proof(memory=-1)


def test_docstring_examples() -> None:
    modules = (optctx.testing.forked, optctx.testing.option, optctx.testing.override, optctx.testing.value)
    results = [doctest.testmod(module) for module in modules]
    assert [each.failed for each in results] == [0] * len(modules)
    assert all(each.attempted for each in results)


FIRST = next(each.text for each in programs(PAGE) if each.language == "python")
EVERYTHING = FIRST.replace('options("unroll-*")', "options()")


def run_examples(program: str, number: int) -> None:
    """Run the first example of the guide with a seed."""
    assert "\ntest_options_do" in program
    names: dict[str, Any] = {"__name__": "example"}
    exec(program.partition("\ntest_options_do")[0], names)
    test = names["test_options_do_not_change_the_result"]
    seed(number)(test)()


@pytest.mark.long
@pytest.mark.parametrize("number", range(20))
@pytest.mark.parametrize("program", [FIRST, EVERYTHING], ids=["unroll", "tuning"])
def test_the_first_example_passes_within_a_minute_with_every_seed(
    attached: None, program: str, number: int
) -> None:
    begun = time.monotonic()
    run_examples(program.replace("deadline=None", "deadline=None, database=None"), number)
    assert time.monotonic() - begun < 60


@pytest.mark.long
@pytest.mark.parametrize("more", [[], ["-n2"]], ids=["", "xdist"])
def test_a_miscompile_a_crash_and_a_hang_are_three_shrunk_failures(tmp_path: Any, more: list[str]) -> None:
    planted = """
import ctypes
from hypothesis import Phase, given, settings, strategies as st
from optctx.testing import crash_proof, options, overrides

once = settings(
    deadline=None, derandomize=True, database=None, max_examples=20, phases=[Phase.generate, Phase.shrink]
)
drawn = overrides(options("unroll-count"))

@once
@given(drawn)
@crash_proof
def test_miscompile(found):
    assert found.get("unroll-count", 0) <= 2

@once
@given(drawn)
@crash_proof
def test_crash(found):
    if found.get("unroll-count", 0) > 4:
        ctypes.string_at(0)

@once
@given(overrides({"unroll-count": st.sampled_from([0, 16])}))
@crash_proof(timeout=1)
def test_hang(found):
    while found.get("unroll-count", 0) > 8:
        pass

def test_after():
    pass
"""
    (tmp_path / "test_planted.py").write_text(planted)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", *more, "test_planted.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert "3 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    for words in ("assert 3 <= 2", "CrashError: test_crash ended", "HangError: test_hang took"):
        assert words in done.stdout
    for value in (3, 5, 16):
        assert f"found={{'unroll-count': {value}}}" in done.stdout
    assert "Fatal Python error" not in done.stderr

"""Tests whose body runs in a child: what comes back, what ends it, and the examples of the guide."""

from __future__ import annotations

import ctypes
import doctest
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, note, reject, seed, settings
from hypothesis import strategies as st

import optctx.testing.forked
import optctx.testing.strategies
from optctx.errors import OptctxError
from optctx.testing import CrashError, HangError, crash_proof
from tests.project.pages import ROOT, programs

PAGE = ROOT / "docs/guide/property-tests.md"
once = settings(derandomize=True, database=None)


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


@pytest.mark.parametrize(
    ("work", "error", "words"),
    [
        (crash, CrashError, "crash ended its process: killed by SIGSEGV"),
        (lambda: os._exit(3), CrashError, "ended its process: exited with status 3"),
        (hang, HangError, "hang took longer than 0.2 s"),
        (lambda: bytearray(3 << 30), MemoryError, None),
    ],
)
def test_each_end_of_the_child_is_an_exception(
    work: Callable[[], object], error: type[BaseException], words: str | None
) -> None:
    with pytest.raises(error, match=words):
        crash_proof(timeout=0.2 if work is hang else 60, memory=1 << 30)(work)()


def test_what_the_body_raises_comes_back_with_its_place() -> None:
    def raising(error: Exception) -> None:
        raise error  # here

    with pytest.raises(KeyError, match="3") as caught:
        crash_proof(raising)(KeyError(3))
    assert caught.traceback[-1].name == "raising"
    assert str(caught.traceback[-1].statement).strip() == "raise error  # here"

    class OwnError(KeyError):
        pass

    with pytest.raises(KeyError, match="OwnError: 4"):  # the nearest class that has a name
        crash_proof(raising)(OwnError(4))
    with pytest.raises(Exception, match="LocalError: 1 2"):
        crash_proof(raising)(LocalError(1, 2))
    for outcome in (pytest.skip, pytest.fail, pytest.xfail, pytest.exit):
        with pytest.raises(outcome.Exception, match="not today"):
            crash_proof(outcome)("not today")


def test_hypothesis_tells_failures_apart_and_shrinks_each() -> None:
    @once
    @given(st.integers(0, 30))
    @crash_proof
    def fails(number: int) -> None:
        assume(number != 5)
        if number > 25:
            reject()
        note(f"noted {number}")
        assert number < 10
        assert number != 0

    with pytest.raises(ExceptionGroup) as caught:
        fails()
    notes = "\n".join(line for each in caught.value.exceptions for line in each.__notes__)
    assert len(caught.value.exceptions) == 2
    for words in ("number=10", "number=0", "noted 10"):
        assert words in notes


def test_above_given_a_crash_shrinks_and_its_stack_ends_with_the_test() -> None:
    @once
    @crash_proof
    @given(st.integers(0, 30))
    def test(number: int) -> None:
        if number > 10:
            crash()

    with pytest.raises(CrashError, match="killed by SIGSEGV") as caught:
        test()
    notes = "\n".join(caught.value.__notes__)
    assert "number=11" in notes
    assert notes.count("Fatal Python error") == 1
    assert "pytest" not in caught.value.__notes__[0]


def test_what_cannot_run_in_a_child_is_one_error() -> None:
    @once
    @given(st.data())
    @crash_proof
    def draws(source: Any) -> None:
        source.draw(st.integers())

    works: list[tuple[str, Callable[[], object]]] = [
        ("cannot draw inside crash_proof", draws),
        ("cannot bring the result of .* back", crash_proof(threading.Lock)),
        ("expected a timeout above 0", lambda: crash_proof(timeout=0)),
    ]
    for words, work in works:
        with pytest.raises(OptctxError, match=words):
            work()


def test_docstring_examples() -> None:
    for module in (optctx.testing.forked, optctx.testing.strategies):
        found = doctest.testmod(module)
        assert found.failed == 0
        assert found.attempted


FIRST = next(each.text for each in programs(PAGE) if each.language == "python")


@pytest.mark.long
@pytest.mark.parametrize("number", range(20))
def test_the_first_example_passes_within_a_minute_with_every_seed(attached: None, number: int) -> None:
    """Under all options that are drawn by default."""
    text, called, _ = FIRST.partition("\ntest_options_do")
    assert called
    text = text.replace('"unroll-*"', "").replace("deadline=None", "deadline=None, database=None")
    names: dict[str, Any] = {"__name__": "example"}
    exec(text, names)
    begun = os.times()
    seed(number)(names["test_options_do_not_change_the_result"])()
    # Of processors, for this process and its children: the clock counts what else the machine does.
    assert sum(os.times()[:4]) - sum(begun[:4]) < 60

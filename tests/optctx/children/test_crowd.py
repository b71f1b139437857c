"""Crowds: only the call that dies alone is marked, and a bad value costs one child."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import TypeVar

import pytest

from optctx.children.answers import Done
from optctx.children.crowd import Crowd
from optctx.children.pool import Pool
from optctx.errors import EndedEarlyError
from tests.optctx.children import calls
from tests.support.processes import SECONDS, children_of

R = TypeVar("R")
Found = dict[int, Done[tuple[int, int]]]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(calls.base, 1) as pool:
        yield pool


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """A crowd that makes a call again and again waits for ever."""
    signal.alarm(int(SECONDS))
    yield
    signal.alarm(0)


def finished(crowd: Crowd[tuple[int, int]], numbers: list[int]) -> Found:
    for number in numbers:
        crowd.submit(number, number)
    found = dict(results_of(crowd))
    assert sorted(found) == sorted(numbers)
    return found


def results_of(crowd: Crowd[R]) -> Iterator[tuple[int, Done[R]]]:
    """Of all calls that were submitted."""
    while ended := crowd.results():
        yield from ended


def test_a_crash_an_exit_and_nonsense_among_calls_on_threads(pool: Pool) -> None:
    """What is printed belongs to the call."""
    crowd = Crowd(pool, calls.each, tuple[int, int], threads=3, limit=lambda number: 60.0)
    found = finished(crowd, [number for number in range(40) if number != calls.HANGS])
    deaths = {number: done.death for number, done in found.items() if done.death is not None}
    assert {number: str(death) for number, death in deaths.items()} == {
        calls.CRASHES: "killed by SIGSEGV",
        calls.EXITS: "LLVM ERROR: odd",
        calls.BABBLES: "it wrote to a descriptor that is not its own",
    }
    alive = {number: done for number, done in found.items() if not done.death}
    assert all(done.value and done.value[0] == number for number, done in alive.items())
    assert [(number, done.printed) for number, done in alive.items() if done.printed] == [
        (calls.PRINTS, f"printed by {calls.PRINTS}\n")
    ]


def test_a_call_beside_a_late_one_ends_and_is_not_made_again(pool: Pool) -> None:
    limit = {calls.HANGS: 0.2}
    crowd = Crowd(
        *(pool, calls.each, tuple[int, int]),
        threads=2,
        limit=lambda number: limit.get(number, 60.0),
        alone=calls.each_alone,
    )
    numbers = [calls.SLOW, *range(100, 109)]
    found = finished(crowd, [calls.HANGS, *numbers])
    hung = found.pop(calls.HANGS)
    assert hung.death is not None
    assert hung.death.how == "timed out"
    values = [done.value or (0, 0) for _, done in sorted(found.items())]
    assert values[0][0] == calls.SLOW, "it was made alone"
    assert [abs(number) for number, _ in values] == numbers
    assert len({process for _, process in values}) <= 3  # its child, one for a call alone, and another one


def test_what_only_died_so_far_makes_suspects_until_one_survives(pool: Pool) -> None:
    """Each of ten calls with a bad value would cost a child for threads, and the others their place."""
    crowd = Crowd(
        pool,
        calls.die_by_tens,
        int,
        threads=2,
        limit=lambda number: 60.0,
        traits=lambda number: [number // 10],
    )
    for number in range(10):
        for each in (number, 10 + number, 20 + number, 30 + number):
            crowd.submit(each, each)
    found = dict(results_of(crowd))
    assert {number for number, done in found.items() if done.death} == set(range(10, 20))
    # The first that died took at most one more with it; both are called alone, and then the rest by another.
    processes = [done.value for number, done in sorted(found.items()) if not done.death]
    assert len(set(processes)) <= 4


def test_a_server_that_is_killed_is_an_error(pool: Pool) -> None:
    with Pool(calls.base, 1, within=pool, name="server") as own:
        crowd = Crowd(own, calls.each, tuple[int, int], threads=2, limit=lambda number: 60.0)
        crowd.submit(calls.HANGS, calls.HANGS)
        os.kill(own.process, signal.SIGKILL)
        with pytest.raises(EndedEarlyError, match="the server ended with status -9"):
            crowd.results()


def test_a_child_that_is_killed_costs_no_call(pool: Pool) -> None:
    with Pool(calls.base, 1, within=pool) as own:
        crowd = Crowd(own, calls.each, tuple[int, int], threads=2, limit=lambda number: 60.0)
        for number in range(100, 140):
            crowd.submit(number, number)
        found = dict(crowd.results())
        for child in children_of(own.process):
            os.kill(child, signal.SIGKILL)
        found.update(results_of(crowd))
    assert sorted(found) == list(range(100, 140))
    assert all(done.value for done in found.values())


def test_where_no_child_begins_a_call_each_is_made_alone(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where no thread can be started."""
    monkeypatch.setattr("optctx.children.crowd.work", calls.barren)
    crowd = Crowd(pool, calls.each, tuple[int, int], threads=2, limit=lambda number: 60.0)
    found = finished(crowd, list(range(100, 106)))
    assert [done.value and done.value[0] for _, done in sorted(found.items())] == list(range(100, 106))

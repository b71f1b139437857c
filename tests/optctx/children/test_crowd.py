"""Crowds: only the call that dies alone is marked, and a bad value costs one child."""

from __future__ import annotations

import operator
import signal
from collections.abc import Iterator
from typing import Any, TypeVar

import pytest

from optctx.children.crowd import Crowd
from optctx.children.pool import Done, Pool
from tests.optctx.children import calls
from tests.support.processes import SECONDS, children_of, wait_for

R = TypeVar("R")
Made = tuple[int, int, bool]
Found = dict[int, Done[Made]]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(int, 1) as pool:
        yield pool


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """A crowd that makes a call again and again waits for ever."""
    signal.alarm(int(SECONDS))
    yield
    signal.alarm(0)


def crowd_of(pool: Pool, **given: Any) -> Crowd[Made]:
    given = {"threads": 2, "limit": lambda number: 60.0, **given}
    return Crowd(pool, int, function=calls.each, gives=tuple[int, int, bool], **given)


def finished(crowd: Crowd[Made], numbers: list[int]) -> Found:
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
    with crowd_of(pool, threads=3) as crowd:
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
    numbers = [calls.SLOW, *range(100, 109)]
    with crowd_of(pool, limit=lambda number: limit.get(number, 60.0)) as crowd:
        found = finished(crowd, [calls.HANGS, *numbers])
    hung = found.pop(calls.HANGS)
    assert hung.death is not None
    assert hung.death.how == "timed out"
    values = [done.value for _, done in sorted(found.items()) if done.value is not None]
    assert [number for number, _, _ in values] == numbers
    assert not values[0][2], "it was made again"
    assert len({process for _, process, _ in values}) <= 3  # its child, one for a call alone, and another one


def test_what_only_died_so_far_makes_suspects_until_one_survives(pool: Pool) -> None:
    """Each of ten calls with a bad value would cost a child for threads, and the others their place."""
    with Crowd(
        pool,
        int,
        function=calls.die_by_tens,
        gives=int,
        threads=2,
        limit=lambda number: 60.0,
        traits=lambda number: [number // 10],
    ) as crowd:
        for number in range(10):
            for each in (number, 10 + number, 20 + number, 30 + number):
                crowd.submit(each, each)
        found = dict(results_of(crowd))
    assert {number for number, done in found.items() if done.death} == set(range(10, 20))
    # The first that died took at most one more with it; both are called alone, and then the rest by another.
    processes = [done.value for number, done in sorted(found.items()) if not done.death]
    assert len(set(processes)) <= 4


def test_leaving_ends_what_is_under_way_and_the_pool_goes_on() -> None:
    """On threads, and alone."""
    with Pool(int, 1) as pool:
        with crowd_of(pool, traits=lambda number: [number // 10]) as crowd:
            crowd.submit(calls.CRASHES, calls.CRASHES)
            assert [number for number, _ in crowd.results()] == [calls.CRASHES]
            for number in (calls.HANGS, calls.SLOW):  # the first is a suspect
                crowd.submit(number, number)
            wait_for(lambda: len(children_of(pool.process)) == 2)
        assert children_of(pool.process) == []
        assert pool.call(operator.add, 1, gives=int).value == 2

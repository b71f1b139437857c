"""Crowds: only the call that dies alone is marked, and a bad value costs one child."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from optctx.children.answers import Done
from optctx.children.crowd import Crowd
from optctx.children.pool import Pool
from optctx.errors import EndedEarlyError
from tests.optctx.children import calls
from tests.support.processes import children_of

Found = dict[int, Done[tuple[int, int]]]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(calls.base, 1) as pool:
        yield pool


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """A crowd that makes a call again and again waits for ever."""
    signal.alarm(60)
    yield
    signal.alarm(0)


def finished(crowd: Crowd[tuple[int, int]], numbers: list[int]) -> Found:
    found: Found = {}
    for number in numbers:
        crowd.submit(number, number)
    while ended := crowd.results():
        found.update(ended)
    assert sorted(found) == sorted(numbers)
    return found


def test_a_crash_an_exit_and_nonsense_among_calls_on_threads(pool: Pool) -> None:
    crowd = Crowd(pool, calls.each, tuple[int, int], threads=3, limit=lambda number: 60.0)
    found = finished(crowd, [number for number in range(40) if number != calls.HANGS])
    deaths = {number: done.death for number, done in found.items() if done.death is not None}
    assert {number: str(death) for number, death in deaths.items()} == {
        calls.CRASHES: "killed by SIGSEGV",
        calls.EXITS: "LLVM ERROR: odd",
        calls.BABBLES: "it wrote to a descriptor that is not its own",
    }
    assert all(done.value and done.value[0] == number for number, done in found.items() if not done.death)


def test_a_hang_among_calls_on_threads_ends_and_disturbs_no_other(pool: Pool) -> None:
    limit = {calls.HANGS: 0.5}
    crowd = Crowd(pool, calls.each, tuple[int, int], threads=2, limit=lambda each: limit.get(each, 60.0))
    found = finished(crowd, [calls.HANGS, *range(100, 120)])
    hung = found.pop(calls.HANGS)
    assert hung.death is not None
    assert hung.death.how == "timed out"
    assert all(done.value and done.value[0] == number for number, done in found.items())
    assert len({done.value[1] for done in found.values() if done.value}) <= 2  # its child, and another one


def test_a_call_beside_a_late_one_ends_and_is_not_made_again(pool: Pool) -> None:
    limit = {calls.HANGS: 0.2, calls.SLOW: 60.0}
    crowd = Crowd(
        pool, calls.each, tuple[int, int], threads=2, limit=limit.__getitem__, alone=calls.each_alone
    )
    slow, hung = (done for _, done in sorted(finished(crowd, list(limit)).items(), reverse=True))
    assert slow.value is not None
    assert slow.value[0] == calls.SLOW, "it was made alone"
    assert hung.death is not None
    assert hung.death.how == "timed out"


def test_what_is_printed_belongs_to_the_call(pool: Pool) -> None:
    numbers = list(range(300, 330))
    found = finished(Crowd(pool, calls.each, tuple[int, int], threads=3, limit=lambda number: 60.0), numbers)
    assert {number: done.printed for number, done in found.items() if done.printed} == {
        309: "printed by 309\n"
    }
    assert len({done.value[1] for done in found.values() if done.value}) == 1


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
    found: dict[int, Done[int]] = {}
    while ended := crowd.results():
        found.update(ended)
    assert {number for number, done in found.items() if done.death} == set(range(10, 20))
    # The first that died took at most one more with it; both are called alone, and then the rest by another.
    processes = [done.value for number, done in sorted(found.items()) if not done.death]
    assert len(set(processes)) <= 4


def test_a_server_that_is_killed_is_an_error(pool: Pool) -> None:
    with Pool(calls.base, 1, within=pool, name="server") as own:
        crowd = Crowd(own, calls.each, tuple[int, int], threads=2, limit=lambda number: 60.0)
        crowd.submit(calls.HANGS, calls.HANGS)
        server = own.process
        os.kill(server, signal.SIGKILL)
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
        while ended := crowd.results():
            found.update(ended)
    assert sorted(found) == list(range(100, 140))
    assert all(done.value for done in found.values())


def test_where_no_child_begins_a_call_each_is_made_alone(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where no thread can be started."""
    monkeypatch.setattr("optctx.children.crowd.work", calls.barren)
    crowd = Crowd(pool, calls.each, tuple[int, int], threads=2, limit=lambda number: 60.0)
    found = finished(crowd, list(range(100, 106)))
    assert [done.value and done.value[0] for _, done in sorted(found.items())] == list(range(100, 106))

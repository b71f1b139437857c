"""Executors that break while a search uses them: nothing waits for ever, and no process stays."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any
from unittest.mock import Mock

import pytest

from optctx.errors import EndedEarlyError, OptctxError
from optctx.lab.sweep.process import SweepProcess
from optctx.lab.tuning import CompilationTime, Limits, RunTime, evaluate, parse_space, workers
from optctx.lab.tuning.workers import Workers, here, perform
from tests.support.garbage import left_behind, no_collector
from tests.support.tuning_cases import HARNESS, JOB, deadly, told, tuned

_LONG = 60.0  # seconds, which nothing here takes


@pytest.mark.parametrize(
    ("sampler", "window", "expected"),
    [
        ("random", 3, 3),
        pytest.param("tpe", None, 8, marks=pytest.mark.long),
        pytest.param("random", None, 32, marks=pytest.mark.long),
    ],
)
def test_a_search_keeps_as_many_tasks_under_way_as_it_may(
    sampler: str, window: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, counts = Workers._start, list[int]()

    def counted(self: Workers, task: Any) -> None:
        start(self, task)
        counts.append(len(self._running))

    monkeypatch.setattr(Workers, "_start", counted)
    space = parse_space(["unroll-count=1..20", "force-vector-width=1,2,4"])
    arguments = {"sampler": sampler, "window": window, "trials": expected + 4, "timeout": 60.0}
    with ThreadPoolExecutor(2) as executor:
        there = tuned(JOB, space, executor=executor, **arguments)
        executor.submit(evaluate.end_helpers).result()
    assert max(counts) == expected
    assert told(there) == told(tuned(JOB, space, **arguments))


def test_an_answer_that_an_interrupt_left_behind_is_not_that_of_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker of a process pool goes on after Ctrl-C, with the work of the next search."""
    plan = evaluate.search_plan(JOB, parse_space(["force-vector-width=1..8"]), Limits())
    first, second = (evaluate.Candidate(width, (("force-vector-width", str(width)),)) for width in (4, 1))
    expected = evaluate.evaluate(plan, second)
    with monkeypatch.context() as patch:
        patch.setattr(SweepProcess, "answers", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            evaluate.evaluate(plan, first)
    found = evaluate.evaluate(plan, second)
    evaluate.end_helpers()
    assert (found.number, found.digest) == (1, expected.digest)


def test_work_whose_worker_died_is_done_again_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Dask and Ray say it: so what ran beside it is not suspected, and it is given up the second time."""

    monkeypatch.setattr(workers, "_is_loss", lambda error: isinstance(error, EOFError))
    running: set[int] = set()
    beside: list[int] = []

    def work(number: int) -> int:
        running.add(number)
        try:
            time.sleep(0.05)
            beside.append(len(running))
            if number == 2 or (number == 3 and len(running) > 1):
                raise EOFError(f"worker of {number}")
            return number
        finally:
            running.discard(number)

    with ThreadPoolExecutor(3) as pool, Workers(pool, here()) as searched:
        for number in range(6):
            searched.send(number, work, number)
        results: dict[Any, Any] = {}
        while len(results) < 6:
            results.update(searched.results())
    assert results[2].error == "its worker was lost with it: EOFError: worker of 2"
    assert [results[number].value for number in (0, 1, 3, 4, 5)] == [0, 1, 3, 4, 5]
    assert beside[-2:] == [1, 1]


def test_a_worker_that_differs_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_LONGEST_PAUSE", 0.01)  # before each of its many refusals
    expected = {"release of llvmlite": "0.1", "release of optctx": "9", "processor": "Z80"}
    reply = perform(expected, 0, 0, os._exit, (1,))
    assert [each.partition(":")[0] for each in reply.mismatches] == list(expected)
    assert perform(here(), 0, 0, len, ("abc",)).value == 3
    with (
        ThreadPoolExecutor(1) as pool,
        Workers(pool, expected) as searched,
        pytest.raises(OptctxError, match=r"no worker can be used .*release of llvmlite: expected 0\.1"),
    ):
        searched.do(len, "abc")


def test_an_error_of_a_worker_keeps_its_class_and_leaves_nothing_behind() -> None:
    def work(kind: type[Exception]) -> None:
        raise kind("it ended")

    kinds = {OptctxError: OptctxError, ValueError: OptctxError}
    kinds |= {EndedEarlyError: EndedEarlyError, BrokenProcessPool: EndedEarlyError}
    with ThreadPoolExecutor(1) as pool, Workers(pool, here()) as searched, no_collector():
        for raised, kind in kinds.items():
            with pytest.raises(OptctxError, match="it ended") as caught:
                searched.do(work, raised)
            assert type(caught.value) is kind
            del caught
        pool.submit(int).result()  # its thread lets go of the last error
        assert left_behind() == []


def test_what_cannot_run_elsewhere_is_refused() -> None:
    space = parse_space(["unroll-count=1,2"])
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(OptctxError, match="one at a time on one machine"):
            tuned(JOB, space, (CompilationTime(),), executor=pool)
        with pytest.raises(OptctxError, match="leave out the pruner"):
            tuned(JOB, space, (RunTime(harness=HARNESS),), pruner="median", executor=pool)


def test_a_pool_that_loses_a_process_takes_no_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "evaluate", deadly)
    with (
        ProcessPoolExecutor(2) as pool,
        pytest.raises(OptctxError, match=r"the executor takes no more work .*--resume"),
    ):
        tuned(JOB, parse_space(["unroll-count=1..6"]), executor=pool, sampler="grid")


@pytest.mark.long
def test_a_pool_that_breaks_behind_a_search_leaves_no_process() -> None:
    with ProcessPoolExecutor(2) as pool:
        victim = pool.submit(os.getpid).result()
        processes = list(pool._processes.values())
        with Workers(pool, here()) as searched:
            # Two at work, and the pool's queue full.
            while sum(future.running() for future in searched._running) < 5:
                searched.send(len(searched._running), time.sleep, _LONG)
                time.sleep(0.01)
            for number in range(3):
                searched.send(-number, time.sleep, _LONG)
        os.kill(victim, signal.SIGKILL)
    try:
        assert [process.is_alive() for process in processes] == [False, False]
    finally:
        for process in processes:
            process.kill()


def test_work_that_a_broken_executor_forgot_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that breaks between its check and the entry of a task forgets that task."""
    monkeypatch.setattr(workers, "_LOOK", 0.01)
    pool = Mock(Executor)
    pool.submit.side_effect = [Future(), BrokenProcessPool("a process died")]
    with (
        Workers(pool, here()) as searched,
        pytest.raises(OptctxError, match=r"takes no more work \(BrokenProcessPool: .*--resume"),
    ):
        searched.do(len, "abc")


def test_an_executor_that_takes_long_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_LOOK", 0.01)
    with ProcessPoolExecutor(1) as pool, Workers(pool, here()) as searched:
        assert searched.do(time.sleep, 0.3).value is None
        assert searched.do(len, "abc").value == 3

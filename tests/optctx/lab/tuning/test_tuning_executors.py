"""Executors that break while a search uses them: nothing waits for ever, and no process stays."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest

from optctx.errors import OptctxError
from optctx.lab.sweep.plan import Answer
from optctx.lab.tuning import Budget, evaluate, parse_space, tune
from optctx.lab.tuning.cluster import ExecutorWorkers, Expected, RemoteEvaluator, executor, remote
from optctx.lab.tuning.cluster.task import Work, perform_all
from optctx.lab.tuning.evaluate import Candidate, make_setup
from tests.support.processes import SECONDS
from tests.support.tuning_cases import JOB, loops, told

_LONG = 60.0  # seconds, which nothing here takes


class _Forgetful(Executor):
    """What a pool is that breaks between its check and the entry of a task: it forgets that task."""

    def __init__(self) -> None:
        self._broken = False

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        if self._broken:
            raise BrokenProcessPool("a process died")
        self._broken = True
        return Future()


class _Held(ThreadPoolExecutor):
    """Does nothing after the first task until so many tasks are under way, and counts these."""

    def __init__(self, expected: int) -> None:
        super().__init__(2)
        self._expected = expected
        self._enough = threading.Event()
        self._begun = self._ended = self.most = 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        self._begun += 1
        self.most = max(self.most, self._begun - self._ended)
        if self.most == self._expected:
            self._enough.set()
        future = super().submit(self._held, self._begun, function, *arguments)
        future.add_done_callback(self._count)
        return future

    def _held(self, number: int, function: Callable[..., Any], *arguments: Any) -> Any:
        assert number == 1 or self._enough.wait(SECONDS)
        return function(*arguments)

    def _count(self, future: Future[Any]) -> None:
        self._ended += 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param({"sampler": "tpe"}, 8, marks=pytest.mark.long),
        pytest.param({"sampler": "random"}, 32, marks=pytest.mark.long),
        ({"sampler": "random", "window": 3}, 3),
    ],
)
def test_a_search_that_learns_nothing_keeps_workers_busy(arguments: dict[str, Any], expected: int) -> None:
    space = parse_space(["unroll-count=1..20", "force-vector-width=1,2,4"])
    with _Held(expected) as executor:
        there = tune(JOB, space, executor=executor, budget=Budget(trials=36), timeout=60.0, **arguments)
        executor.submit(evaluate.end_helpers).result()
    assert executor.most == expected
    assert told(there) == told(tune(JOB, space, budget=Budget(trials=36), **arguments))


class _Two(ExecutorWorkers):
    """Of an executor that is known to do two things at once."""

    @property
    def count(self) -> int:
        return 2


def test_all_helpers_start_before_any_trial_and_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without a time limit, which is then relative to what the base takes."""
    meeting = threading.Barrier(2)  # of two threads at once
    helpers: dict[int, object] = {}

    def started(function: Callable[..., Any], *arguments: Any) -> Any:
        meeting.wait(SECONDS)
        value = function(*arguments)
        helpers[threading.get_ident()] = evaluate._of_thread.helper
        return value

    def used(*arguments: Any) -> Any:
        answer = evaluate.evaluate(*arguments)
        assert evaluate._of_thread.helper is helpers[threading.get_ident()]
        return answer

    setup = make_setup(JOB, loops(), timeout=None, memory=None, emit=None, noted=True, repeats=1)
    with ThreadPoolExecutor(2) as executor, RemoteEvaluator(setup, _Two(executor, Expected.here())) as both:
        monkeypatch.setattr(remote, "evaluate", functools.partial(started, evaluate.evaluate))
        monkeypatch.setattr(remote, "make_ready", functools.partial(started, evaluate.make_ready))
        base = both.base()
        assert (base.state, len(helpers)) == ("ok", 2)
        monkeypatch.setattr(remote, "evaluate", used)
        for number in range(8):
            both.submit(Candidate(number, (("unroll-count", str(number + 1)),)))
        answers: list[Answer] = []
        while len(answers) < 8:
            answers += both.answers()
        executor.submit(evaluate.end_helpers).result()
    assert {answer.state for answer in answers} == {"ok"}
    assert base.digest in {answer.digest for answer in answers}


def test_the_next_work_of_a_parcel_is_foreseen() -> None:
    seen: list[tuple[str, int]] = []

    def foresee(number: int) -> None:
        seen.append(("foreseen", number))
        raise OptctxError("which the work itself will raise")

    works = [Work(0, n, lambda number: seen.append(("done", number)), (n,), foresee) for n in range(3)]
    assert [reply.error for reply in perform_all(Expected.here(), works)] == [""] * 3
    first = {each: seen.index(each) for each in seen}
    for number in range(3):
        assert first["foreseen", number] < first["done", max(0, number - 1)] <= first["done", number]


@pytest.mark.redirected
def test_a_worker_does_not_emit_what_another_has_emitted() -> None:
    space = parse_space(["unroll-count=2,4", "inline-threshold=100,200", "align-all-blocks=0,4"])
    setup = make_setup(JOB, space, timeout=None, memory=None, emit=None, noted=True, repeats=1)
    same, aligned = ({"unroll-count": "2", "inline-threshold": "200", "align-all-blocks": n} for n in "04")
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        own = Candidate(0, (("unroll-count", "2"), ("inline-threshold", "100"), ("align-all-blocks", "0")))
        emitted = first.submit(evaluate.evaluate, setup, own).result()
        assert emitted.emitted
        assert emitted.emission is not None
        known = (emitted.emission,)
        for options in (same, aligned):
            candidate = Candidate(1, tuple(options.items()))
            there = second.submit(evaluate.evaluate, setup, candidate, known).result()
            here = first.submit(evaluate.evaluate, setup, candidate).result()
            assert (there.digest, there.object_size) == (here.digest, here.object_size)
            assert (there.digest == emitted.digest) == (options is same) == (not there.emitted)
            assert there.read == here.read
            assert there.seconds > 0
        first.submit(evaluate.end_helpers).result()


@pytest.mark.long
def test_a_pool_that_breaks_behind_a_search_leaves_no_process() -> None:
    with ProcessPoolExecutor(2) as pool:
        victim = pool.submit(os.getpid).result()
        processes = list(pool._processes.values())
        with ExecutorWorkers(pool, Expected.here()) as workers:
            # Two at work, and the pool's queue full.
            while sum(future.running() for future in workers._running) < 5:
                workers.submit(len(workers._running), time.sleep, _LONG)
                time.sleep(0.01)
            for number in range(3):
                workers.submit(-number, time.sleep, _LONG)
        os.kill(victim, signal.SIGKILL)
    try:
        assert [process.is_alive() for process in processes] == [False, False]
    finally:
        for process in processes:
            process.kill()


def test_work_that_a_broken_executor_forgot_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "_LOOK", 0.01)
    with (
        ExecutorWorkers(_Forgetful(), Expected.here()) as workers,
        pytest.raises(OptctxError, match=r"takes no more work \(BrokenProcessPool: .*--resume"),
    ):
        workers.do(len, "abc")


def test_an_executor_that_takes_long_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "_LOOK", 0.01)
    with ProcessPoolExecutor(1) as pool, ExecutorWorkers(pool, Expected.here()) as workers:
        assert workers.do(time.sleep, 0.3).value is None
        assert workers.do(len, "abc").value == 3

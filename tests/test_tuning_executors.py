"""Executors that break while a search uses them: nothing waits for ever, and no process stays."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest

from optctx.errors import OptctxError
from optctx.tuning.cluster import ExecutorWorkers, Expected, executor

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

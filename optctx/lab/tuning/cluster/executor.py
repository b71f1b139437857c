"""Workers of any `concurrent.futures` executor: it decides who does what."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from types import TracebackType
from typing import Any

from optctx.errors import OptctxError
from optctx.lab.tuning.cluster.task import Expected, Reply, perform
from optctx.lab.tuning.cluster.workers import Lost, Result, Task, Workers

__all__ = ["ExecutorWorkers", "words_of"]

_PATIENCE = 300.0  # seconds in which workers do nothing but refuse
_LONGEST = 200  # characters of an error
_MOST_REFUSALS = 20  # in a row, where no worker has ever done anything
_LOOK = 5.0  # seconds without a result before the executor is asked whether it takes work; doubled each time
# Before 3.12 a pool that loses a process stops half-way at a task that was cancelled. Its other processes
# stay, and the interpreter waits for them at its end (python/cpython#107219).
_POOLS_TAKE_CANCELS = sys.version_info >= (3, 12)


class ExecutorWorkers(Workers):
    """Of an executor that the caller has made, and ends. Raises OptctxError if it is broken."""

    def __init__(self, executor: Executor, expected: Expected) -> None:
        super().__init__(expected)
        self._executor = executor
        self._running: dict[Future[Reply], Task] = {}
        self._refusals = 0  # in a row
        self._worked = 0.0  # when one was last of use, as `time.monotonic` has it
        self._look = _LOOK

    def __enter__(self) -> ExecutorWorkers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if _POOLS_TAKE_CANCELS or not isinstance(self._executor, ProcessPoolExecutor):
            for future in self._running:
                future.cancel()
        self._running.clear()

    @property
    def count(self) -> int:
        return 1

    def _start(self, task: Task) -> None:
        self._running[self._submit(perform, self.expected, self._work(task))] = task

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Raises OptctxError if the executor is broken, or shut down."""
        try:
            return self._executor.submit(function, *arguments)
        except (BrokenExecutor, RuntimeError) as error:
            raise _broken(error) from error

    def _ended(self) -> list[tuple[Hashable, Result]]:
        done, _ = wait(self._running, timeout=self._look, return_when=FIRST_COMPLETED)
        if done:
            self._look = _LOOK
        else:
            # A pool that breaks while work is submitted may forget that work, but then takes no more.
            self._submit(int)
            self._look *= 2
        ended = []
        for future in done:
            task = self._running.pop(future)
            result = self._result(task, future)
            if result is None:
                self._start(task)
            else:
                ended.append((task.key, result))
        return ended

    def _result(self, task: Task, future: Future[Reply]) -> Result | None:
        try:
            reply = future.result()
        except (BrokenExecutor, CancelledError) as error:
            raise _broken(error) from error
        except Exception as error:
            if not _is_loss(error):
                raise OptctxError(
                    f"a worker of the executor cannot do its work: {words_of(error)}"
                ) from error
            self.lost.append(f"a worker of the executor ({words_of(error)})")
            return Lost((words_of(error),))  # the executor has tried others
        result = self._judge(task, f"worker {reply.worker}", reply)
        if reply.mismatches:
            self._check_refusals()
        else:
            self._refusals, self._worked = 0, time.monotonic()
        return result

    def _check_refusals(self) -> None:
        """Raises OptctxError where nothing but refusals comes."""
        self._refusals += 1
        waited = time.monotonic() - self._worked
        if self._refusals >= _MOST_REFUSALS and (not self._worked or waited > _PATIENCE):
            raise self._all_refused()


def _broken(error: BaseException) -> OptctxError:
    return OptctxError(
        f"the executor takes no more work ({words_of(error)}); start the search again, with --resume if it "
        "has a study"
    )


def _is_loss(error: Exception) -> bool:
    """Whether a worker died: as Dask and Ray say it, which is known if they are in use."""
    kinds = []
    for module, names in {
        "distributed": ("KilledWorker",),
        "ray.exceptions": ("WorkerCrashedError", "ActorDiedError", "NodeDiedError"),
    }.items():
        loaded = sys.modules.get(module)
        kinds += [kind for name in names if isinstance(kind := getattr(loaded, name, None), type)]
    return isinstance(error, tuple(kinds))


def words_of(error: BaseException) -> str:
    """An error of another program, in a line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:_LONGEST]}" if text else type(error).__name__

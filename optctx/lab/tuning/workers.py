"""Searches whose work is done in other processes, on this machine or others, by any executor.

Each worker attaches on its own, and shows that it has the same LLVM before it works. What goes to it and
comes back is pickled by the executor: workers are as trusted as this process (SECURITY.md).
"""

from __future__ import annotations

import functools
import os
import platform
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from optctx.errors import EndedEarlyError, OptctxError
from optctx.lab.sweep.plan import Answer, Plan
from optctx.lab.timing import Confirmation, Interval, Stop
from optctx.lab.timing.processors import processor_model
from optctx.lab.trials import versions
from optctx.lab.tuning.evaluate import BASE, Candidate, LocalEvaluator, evaluate
from optctx.lab.tuning.objectives import Found, Measure, Measured, RunTime

_ENOUGH = 32  # short tasks under way, where their order does not matter
_LONGEST_PAUSE = 1.0  # seconds
_PATIENCE = 300.0  # seconds in which workers do nothing but refuse
_LONGEST = 200  # characters of an error
_MOST_REFUSALS = 20  # in a row, where no worker has ever done anything
_MOST_ERRORS = 3
_LOOK = 5.0  # seconds without a result before the executor is asked whether it takes work; doubled each time
# Before 3.12 a pool that loses a process stops half-way at a task that was cancelled. Its other processes
# stay, and the interpreter waits for them at its end (python/cpython#107219).
_POOLS_TAKE_CANCELS = sys.version_info >= (3, 12)
_NAMES = {"LLVM": "build id of LLVM", "llvmlite": "release of llvmlite", "optctx": "release of optctx"}
_PROCESSOR = "processor"
# How Dask and Ray say that a worker died, by the module that is loaded where they are in use.
_LOSSES = {
    "distributed": ("KilledWorker",),
    "ray.exceptions": ("WorkerCrashedError", "ActorDiedError", "NodeDiedError"),
}


@functools.cache
def here() -> Mapping[str, str]:
    """Return what this process has, and every worker has to have. It attaches now, if it has not before."""
    try:
        found = versions()
    except OptctxError as error:
        found = dict.fromkeys(_NAMES, f"one that optctx cannot attach to ({error})")
    return {_NAMES[name]: text for name, text in found.items()}


@dataclass(frozen=True)
class Reply:
    """What became of a task. `value` counts if there are no `mismatches` and no `error`.

    `error`: of an OptctxError that the work raised, or how the work ended its worker, if it is `lost`.
    `early`: that was an EndedEarlyError.
    """

    worker: str  # host and process
    processor: str  # its model
    value: Any = None
    mismatches: tuple[str, ...] = ()
    error: str = ""
    early: bool = False
    lost: bool = False
    address: str = ""  # by which Dask knows the worker; "" elsewhere

    def raised(self, words: str) -> OptctxError:
        """Return an error of the class that the work raised."""
        return (EndedEarlyError if self.early else OptctxError)(words)


def perform(
    expected: Mapping[str, str],
    refusals: int,
    number: int,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> Reply:
    """Do the work, on a worker that has what is expected: as `here`, and the model of the processor where
    run times are compared. Plain data in and out.

    `refusals`: how often workers have refused this work. `number`: another one each time, so that no
    scheduler takes two tries for one.
    """
    worker, processor = f"{platform.node()}, process {os.getpid()}", processor_model()
    found = {**here(), _PROCESSOR: processor}
    pairs = ((what, text, found.get(what)) for what, text in expected.items())
    if mismatches := tuple(f"{what}: expected {one}, found {two}" for what, one, two in pairs if one != two):
        # One that does nothing is always free, and would be given everything.
        time.sleep(min(_LONGEST_PAUSE, 0.05 * 2 ** min(refusals, 10)))
        return Reply(worker, processor, mismatches=mismatches, address=_address())
    try:
        return Reply(worker, processor, function(*arguments))
    except OptctxError as error:
        return Reply(worker, processor, error=str(error), early=isinstance(error, EndedEarlyError))


def _address() -> str:
    """The address of the Dask worker that this thread works for; "" for none."""
    distributed = sys.modules.get("distributed")
    try:
        return "" if distributed is None else str(distributed.get_worker().address)
    except ValueError:
        return ""


@dataclass
class _Task:
    key: Hashable
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    lost: int = 0  # workers
    refusals: int = 0
    errors: int = 0


class Workers:
    """Has tasks done by an executor, which the caller has made, and ends. A context manager, for one thread.

    Leaving it cancels what has not begun. What a refused worker was to do is done by another one. A task
    whose worker died is done again while nothing else is, so no other one is suspected: if it loses its
    worker again, it is lost. `refused` and `lost` say, in words, which workers were, and why.
    """

    def __init__(self, executor: Executor, expected: Mapping[str, str] | None = None) -> None:
        """By default what this process has is expected, which attaches now."""
        self.expected = expected or here()
        self.refused: list[str] = []
        self.lost: list[str] = []
        self._executor = executor
        self._running: dict[Future[Reply], _Task] = {}
        self._suspects: list[_Task] = []
        self._numbers = 0
        self._refusals = 0  # in a row
        self._worked = 0.0  # when one was last of use, as `time.monotonic` has it
        self._look = _LOOK

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        if _POOLS_TAKE_CANCELS or not isinstance(self._executor, ProcessPoolExecutor):
            for future in self._running:
                future.cancel()
        self._running.clear()

    def send(self, key: Hashable, function: Callable[..., Any], *arguments: Any) -> None:
        """Have a function of a module called with arguments, all of which can be pickled."""
        self._start(_Task(key, function, arguments))

    def results(self) -> list[tuple[Hashable, Reply]]:
        """Wait for at least one result, under its key.

        Raises OptctxError if no worker can do it: all are refused, or the executor takes no more work.
        """
        ended: list[tuple[Hashable, Reply]] = []
        while not ended:
            if self._suspects and not self._running:
                self._start(self._suspects.pop(0))
            done, _ = wait(self._running, timeout=self._look, return_when=FIRST_COMPLETED)
            if done:
                self._look = _LOOK
            else:
                # A pool that breaks while work is submitted may forget that work, but then takes no more.
                self._submit(int)
                self._look *= 2
            for future in done:
                task = self._running.pop(future)
                if reply := self._reply(task, future):
                    ended.append((task.key, reply))
        return ended

    def do(self, function: Callable[..., Any], *arguments: Any) -> Reply:
        """Have one thing done while nothing else is. Raises OptctxError if it cannot be, and as it does."""
        self.send("", function, *arguments)
        ((_, reply),) = self.results()
        if reply.error:
            raise reply.raised(f"cannot go on: {reply.error}" if reply.lost else reply.error)
        return reply

    def _start(self, task: _Task) -> None:
        self._numbers += 1
        work = (self.expected, task.refusals, self._numbers, task.function, task.arguments)
        self._running[self._submit(perform, *work)] = task

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Raises OptctxError if the executor is broken, or shut down."""
        try:
            return self._executor.submit(function, *arguments)
        except (BrokenExecutor, RuntimeError) as error:
            raise _broken(error) from error

    def _reply(self, task: _Task, future: Future[Reply]) -> Reply | None:
        """The reply, or None if the task is done again."""
        try:
            error = future.exception()  # raised here, it would lead back to the future that has it
        except CancelledError as cancelled:
            raise _broken(cancelled) from cancelled
        if isinstance(error, BrokenExecutor):
            raise _broken(error) from error
        if isinstance(error, Exception):
            words = words_of(error)
            if not _is_loss(error):
                raise OptctxError(f"a worker of the executor cannot do its work: {words}") from error
            self.lost.append(f"a worker of the executor ({words})")
            task.lost += 1
            if task.lost > 1:
                return Reply("", "", error=f"its worker was lost with it: {words}", lost=True)
            self._suspects.append(task)
            return None
        reply = future.result()
        if reply.mismatches:
            self._refuse(reply)
            task.refusals += 1
        else:
            self._refusals, self._worked = 0, time.monotonic()
            task.errors += bool(reply.error)
            if not reply.error or task.errors >= _MOST_ERRORS:
                return reply
        self._start(task)
        return None

    def _refuse(self, reply: Reply) -> None:
        """Raises OptctxError where nothing but refusals comes."""
        words = f"worker {reply.worker}: {'; '.join(reply.mismatches)}"
        if words not in self.refused:
            self.refused.append(words)
        if reply.address and hasattr(self._executor, "bar"):
            self._executor.bar(reply.address)
        self._refusals += 1
        waited = time.monotonic() - self._worked
        if self._refusals >= _MOST_REFUSALS and (not self._worked or waited > _PATIENCE):
            raise OptctxError(
                f"no worker can be used ({' | '.join(self.refused)}); install there what this process has"
            )


def _broken(error: BaseException) -> OptctxError:
    return EndedEarlyError(
        f"the executor takes no more work ({words_of(error)}); start the search again, with --resume if it "
        "is kept"
    )


def _is_loss(error: Exception) -> bool:
    """Whether a worker died."""
    loaded = [(sys.modules.get(module), name) for module, names in _LOSSES.items() for name in names]
    kinds = [getattr(module, name, None) for module, name in loaded]
    return isinstance(error, tuple(kind for kind in kinds if isinstance(kind, type)))


def words_of(error: BaseException) -> str:
    """An error of another program, in a line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:_LONGEST]}" if text else type(error).__name__


class RemoteEvaluator(Workers):
    """Compiles by workers, and measures there: each candidate by itself beside the base, on a processor of
    its own.

    Run times are taken on processors of one `model`: that of the worker which measures first.
    """

    enough = _ENOUGH

    def __init__(self, plan: Plan, executor: Executor) -> None:
        super().__init__(executor)
        self.plan = plan

    @property
    def model(self) -> str:
        return self.expected.get(_PROCESSOR, "")

    def base(self) -> Answer:
        answer: Answer = self.do(evaluate, self.plan, BASE).value
        return answer

    def submit(self, candidate: Candidate) -> None:
        self.send(candidate.number, evaluate, self.plan, candidate)

    def answers(self) -> list[Answer]:
        return [
            Answer("crashed", int(str(number)), error=reply.error) if reply.error else reply.value
            for number, reply in self.results()
        ]

    @contextmanager
    def session(self, objective: Measured, base: bytes, stop: Stop | None = None) -> Iterator[Measure]:
        assert stop is None, "workers are not asked before they have ended"
        yield lambda candidates: self._measure(objective, base, candidates)

    def confirm(
        self, objective: RunTime, base: bytes, code: bytes, first: Interval, seed: int
    ) -> Confirmation:
        found: Confirmation = self.do(objective.confirm, base, code, first, seed).value
        return found

    def _measure(self, objective: Measured, base: bytes, candidates: Mapping[str, bytes]) -> dict[str, Found]:
        left, found = dict(candidates), dict[str, Found]()
        if isinstance(objective, RunTime):
            objective = replace(objective, seconds=objective.seconds / max(1, len(candidates)))
            if not self.model:
                name = next(iter(left))
                reply = self.do(measure_alone, objective, base, left.pop(name))
                self.expected = {**self.expected, _PROCESSOR: reply.processor}
                found[name] = reply.value
        for name, code in left.items():
            self.send(name, measure_alone, objective, base, code)
        while len(found) < len(candidates):
            for key, reply in self.results():
                if reply.error and not reply.lost:
                    raise reply.raised(f"cannot measure on {reply.worker}: {reply.error}")
                found[str(key)] = Found("crashed", error=reply.error) if reply.lost else reply.value
        return found


Evaluator: TypeAlias = LocalEvaluator | RemoteEvaluator


def measure_alone(objective: Measured, base: bytes, code: bytes) -> Found:
    """What one candidate gives. Raises OptctxError if the base cannot be run here."""
    with objective.session(base) as measure:
        return measure({"candidate": code})["candidate"]

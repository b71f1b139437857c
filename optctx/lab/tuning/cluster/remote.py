"""Compiling and measuring by workers, in the form that a search uses."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType

from optctx.errors import OptctxError
from optctx.lab.sweep.emissions import Emitted
from optctx.lab.sweep.plan import Answer
from optctx.lab.timing import Confirmation, Interval, Stop
from optctx.lab.tuning.cluster.workers import Lost, Result, Workers, reply_of
from optctx.lab.tuning.evaluate import Candidate, Setup, evaluate, foresee, make_ready
from optctx.lab.tuning.evaluators import BASE
from optctx.lab.tuning.measured import Found, Measure, Measured, RunTime

__all__ = ["RemoteEvaluator", "RemotePlace"]

_MOST_TOLD = 256  # emissions of which each parcel tells
_ENOUGH = 32  # short tasks for each worker, so that they come in parcels


class RemoteEvaluator:
    """Compiles by workers."""

    def __init__(self, setup: Setup, workers: Workers) -> None:
        self._setup = setup
        self._workers = workers
        self._emitted: tuple[Emitted, ...] = ()  # by some worker

    @property
    def enough(self) -> int:
        return _ENOUGH * self._workers.count

    def __enter__(self) -> RemoteEvaluator:
        self._workers.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.__exit__(kind, error, trace)

    def base(self) -> Answer:
        """While one worker compiles it, the others start their helpers."""
        count = self._workers.count
        self._workers.submit(BASE.number, evaluate, self._setup, BASE)
        for place in range(1, count):
            self._workers.submit(("ready", place), make_ready, self._setup)
        ended: dict[Hashable, Result] = {}
        while len(ended) < count:
            ended.update(self._workers.results())
        answer: Answer = reply_of(ended[BASE.number]).value
        self._tell([answer])
        return answer

    def submit(self, candidate: Candidate) -> None:
        self._workers.submit(
            candidate.number,
            evaluate,
            self._setup,
            candidate,
            foresee=foresee,
            newest=lambda: self._emitted,
        )

    def answers(self) -> list[Answer]:
        answers = [_answer(number, result) for number, result in self._workers.results()]
        self._tell(answers)
        return answers

    def _tell(self, answers: Iterable[Answer]) -> None:
        """Have the workers know what others have emitted."""
        known = {each.key: each for each in self._emitted}
        news = [answer.emission for answer in answers if answer.emission is not None]
        known.update((each.key, each) for each in news)
        if news:
            self._emitted = tuple(known.values())[-_MOST_TOLD:]


def _answer(number: object, result: Result) -> Answer:
    assert isinstance(number, int)
    if isinstance(result, Lost) or result.error:
        return Answer(number, "crashed", error=str(result) if isinstance(result, Lost) else result.error)
    answer: Answer = result.value
    return answer


class RemotePlace:
    """Measures on workers: each candidate by itself beside the base, on a processor of its own.

    Run times are taken on processors of one model: that of the worker which measures first.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    @contextmanager
    def session(self, objective: Measured, base: bytes, stop: Stop | None = None) -> Iterator[Measure]:
        assert stop is None, "workers are not asked before they have ended"
        yield lambda candidates: self._measure(objective, base, candidates)

    def confirm(
        self, objective: RunTime, base: bytes, code: bytes, first: Interval, seed: int
    ) -> Confirmation:
        found: Confirmation = self._workers.do(confirm_alone, objective, base, code, first, seed).value
        return found

    def _measure(self, objective: Measured, base: bytes, candidates: Mapping[str, bytes]) -> dict[str, Found]:
        alone = objective.share(len(candidates), self._workers.count)
        found: dict[str, Found] = {}
        if isinstance(objective, RunTime) and not self._workers.expected.processor:
            name, code = next(iter(candidates.items()))
            reply = self._workers.do(measure_alone, alone, base, code)
            self._workers.expect_processor(reply.processor)
            found[name] = reply.value
        left = {name: code for name, code in candidates.items() if name not in found}
        for name, code in left.items():
            self._workers.submit(name, measure_alone, alone, base, code)
        while len(found) < len(candidates):
            for key, result in self._workers.results():
                found[str(key)] = _found(result)
        return found


def measure_alone(objective: Measured, base: bytes, code: bytes) -> Found:
    """What one candidate gives. Raises OptctxError if the base cannot be run here."""
    with objective.session(base) as measure:
        return measure({"candidate": code})["candidate"]


def confirm_alone(objective: RunTime, base: bytes, code: bytes, first: Interval, seed: int) -> Confirmation:
    """A second check of one candidate."""
    return objective.confirm(base, code, first, seed)


def _found(result: Result) -> Found:
    if isinstance(result, Lost):
        return Found("crashed", error=str(result))
    if result.error:
        raise OptctxError(f"cannot measure on {result.worker}: {result.error}")
    found: Found = result.value
    return found

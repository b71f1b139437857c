"""One trial as plain data, and what compiles it: here in a helper process of this one, or in any process."""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol

from optctx import OptionContext, registry
from optctx.compiling import Emit, Job
from optctx.errors import OptctxError
from optctx.lab.space import PASSES, Space, overrides_of
from optctx.lab.sweep.plan import Answer, Asked, Plan
from optctx.lab.sweep.process import SweepProcess
from optctx.lab.sweep.sweep import judge_targets
from optctx.locks import lock_left_behind
from optctx.process import all_arguments, attributes_policy

__all__ = [
    "BASE",
    "Candidate",
    "Evaluator",
    "LocalEvaluator",
    "Setup",
    "asked_of",
    "end_helpers",
    "evaluate",
    "fastest",
    "make_setup",
    "plan_of",
    "refuse",
]


@dataclass(frozen=True)
class Setup:
    """What all trials of a study share. No handles, so it can be sent to another process or machine."""

    job: Job
    pipelines: tuple[str, ...]
    arguments: tuple[str, ...]  # set process-wide before anything is compiled
    attributes: tuple[str, ...]  # what `attributes_policy` says
    timeout: float | None  # seconds for a compilation; None is relative to the base
    memory: int | None  # bytes of address space for a compilation
    output: bool = False  # whether the object and the IR are wanted, beside their figures
    noted: tuple[str, ...] = ()  # options whose reads are noted
    repeats: int = 1  # compilations of each candidate, of which the fastest counts

    @property
    def digest(self) -> str:
        return hashlib.sha256(pickle.dumps(self)).hexdigest()


@dataclass(frozen=True)
class Candidate:
    """What one trial tries. `point`: (dimension, text of its value) for the dimensions that count."""

    number: int
    point: tuple[tuple[str, str], ...]

    @property
    def options(self) -> dict[str, str]:
        """What it sets."""
        return overrides_of(dict(self.point))

    def pipeline(self, setup: Setup) -> str:
        return dict(self.point).get(PASSES, setup.pipelines[0])


def make_setup(
    job: Job,
    space: Space,
    *,
    timeout: float | None,
    memory: int | None,
    emit: Emit | None,
    noted: bool,
    repeats: int,
) -> Setup:
    """The setup of a study in which options have the values that the calling thread sees now.

    `emit`: what objectives want of each compilation; None for figures alone. `noted`: note which options of
    the space each compilation reads. Raises OptctxError for a target that LLVM does not take.
    """
    judge_targets({"": job})
    names = [each.name for each in space.dimensions if each.name != PASSES]
    return Setup(
        job=replace(job, options=(), emit=emit or "object"),
        pipelines=space.pipelines or (job.passes,),
        arguments=all_arguments(OptionContext()),
        attributes=attributes_policy(),
        timeout=timeout,
        memory=memory,
        output=emit is not None,
        noted=tuple(registry()[name].alias_of or name for name in names) if noted else (),
        repeats=repeats,
    )


def plan_of(setup: Setup, threads: int) -> Plan:
    """For the helper process of the sweep: a job for each pipeline. Its numbers are those of the
    baselines.
    """
    return Plan(
        jobs=tuple(replace(setup.job, passes=each) for each in setup.pipelines),
        arguments=setup.arguments,
        attributes=setup.attributes,
        threads=threads,
        timeout=setup.timeout,
        memory=setup.memory,
        output=setup.output,
        noted=setup.noted,
        emit_once=setup.repeats == 1,  # otherwise it is the time that counts
    )


def asked_of(setup: Setup, candidate: Candidate, number: int) -> Asked:
    """The request for a candidate under a number that is none of the plan's."""
    return Asked(number, setup.pipelines.index(candidate.pipeline(setup)), candidate.options)


BASE = Candidate(-1, ())


class Evaluator(Protocol):
    """Compiles candidates. A context manager."""

    def __enter__(self) -> Evaluator: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def enough(self) -> int:
        """How many candidates under way keep it busy."""

    def base(self) -> Answer:
        """Compile with no option of the space set. Raises OptctxError for what LLVM does not take at all."""

    def submit(self, candidate: Candidate) -> None:
        """Have a candidate compiled."""

    def answers(self) -> list[Answer]:
        """Wait for at least one candidate that was submitted, under its number. Raises OptctxError if what
        compiles is gone."""


class LocalEvaluator:
    """Compiles on threads of a helper process, as a sweep does."""

    def __init__(self, setup: Setup, threads: int) -> None:
        self._setup = setup
        self._threads = threads
        self._plan = plan_of(setup, threads)
        self._process = SweepProcess()
        self._next = self._plan.total
        self._numbers: dict[int, int] = {}  # request -> candidate
        self._partial: dict[int, list[Answer]] = {}  # by candidate

    def __enter__(self) -> LocalEvaluator:
        self._process.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.__exit__(kind, error, trace)

    @property
    def enough(self) -> int:
        return 2 * self._threads

    def base(self) -> Answer:
        refuse(self._setup, self._process.prepare(self._plan))
        # Each pipeline's own: their time limits are relative to these.
        answers = {answer.number: answer for answer in self._process.compile(range(self._plan.total))}
        if self._setup.repeats > 1 and answers[0].state == "ok":
            self.submit(BASE)
            (answer,) = self._all()
            return answer
        return replace(answers[0], number=BASE.number)

    def submit(self, candidate: Candidate) -> None:
        self._partial[candidate.number] = []
        requests = [self._next + place for place in range(self._setup.repeats)]
        self._next += len(requests)
        self._numbers.update(dict.fromkeys(requests, candidate.number))
        self._process.ask(asked_of(self._setup, candidate, request) for request in requests)

    def answers(self) -> list[Answer]:
        return self._all()

    def _all(self) -> list[Answer]:
        whole: list[Answer] = []
        while not whole:
            for answer in self._process.answers():
                number = self._numbers.pop(answer.number)
                parts = self._partial[number]
                parts.append(answer)
                if len(parts) == self._setup.repeats:
                    del self._partial[number]
                    whole.append(replace(fastest(parts), number=number))
        return whole


def fastest(answers: Sequence[Answer]) -> Answer:
    """Of several compilations of one candidate: the first that went wrong, or else the fastest."""
    wrong = [answer for answer in answers if answer.state != "ok"]
    return wrong[0] if wrong else min(answers, key=lambda answer: answer.seconds)


def evaluate(setup: Setup, candidate: Candidate) -> Answer:
    """Compile one candidate. A crash, a hang and a fatal error are states of the answer.

    Plain data in and out: any executor can call it on any machine with the same LLVM. A helper process, which
    stays for the thread's next call with the same setup, does the work. Raises OptctxError if the helper is
    killed; the next call starts another one.
    """
    helper = _helper(setup)
    try:
        answer = helper.one(candidate)
    except OptctxError:
        helper.end()
        _of_thread.helper = None
        raise
    return replace(answer, number=candidate.number)


def refuse(setup: Setup, errors: Sequence[str]) -> None:
    """Raise OptctxError for a module or a pipeline that LLVM does not take under any options."""
    for pipeline, error in zip(setup.pipelines, errors, strict=True):
        if error:
            raise OptctxError(f"{pipeline}: {error}" if len(setup.pipelines) > 1 else error)


class _Helper:
    """A helper process that compiles one candidate after the other, for one thread: it ends with it."""

    def __init__(self, setup: Setup) -> None:
        self.digest, self.owner = setup.digest, os.getpid()
        self._evaluator = LocalEvaluator(setup, 1).__enter__()
        self.end = weakref.finalize(self, _end, self._evaluator, self.owner)
        with _entering:
            _helpers.add(self)
        try:
            self._base = self._evaluator.base()
        except OptctxError:
            self.end()
            raise

    def one(self, candidate: Candidate) -> Answer:
        if not candidate.point:
            return self._base
        self._evaluator.submit(candidate)
        (answer,) = self._evaluator.answers()
        return answer


def _end(evaluator: LocalEvaluator, owner: int) -> None:
    if owner == os.getpid():  # a fork leaves it to the parent
        evaluator.__exit__(None, None, None)


def _helper(setup: Setup) -> _Helper:
    """The helper of this thread for a setup. One that is for another setup is replaced."""
    helper: _Helper | None = getattr(_of_thread, "helper", None)
    gone = helper is not None and not helper.end.alive
    if helper is not None and (gone or (helper.digest, helper.owner) != (setup.digest, os.getpid())):
        helper.end()
        helper = _of_thread.helper = None
    if helper is None:
        helper = _of_thread.helper = _Helper(setup)
    return helper


def end_helpers() -> None:
    """End the helpers of all threads of this process, with what they compile. They start again if needed."""
    with _entering:
        found = list(_helpers)
    for helper in found:
        helper.end()


_of_thread = threading.local()
_helpers: weakref.WeakSet[_Helper] = weakref.WeakSet()
_entering = lock_left_behind()

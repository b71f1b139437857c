"""One trial as plain data, and the one function that compiles it, in any process."""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    "Candidate",
    "Setup",
    "asked_of",
    "end_helpers",
    "evaluate",
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


def evaluate(setup: Setup, candidate: Candidate) -> Answer:
    """Compile one candidate. A crash, a hang and a fatal error are states of the answer.

    Plain data in and out: any executor can call it on any machine with the same LLVM. A helper process, which
    stays for the thread's next call with the same setup, does the work. Raises OptctxError if the helper is
    killed; the next call starts another one.
    """
    helper = _helper(setup)
    try:
        answer = helper.one(setup, candidate)
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
        self._process = SweepProcess()
        self._process.__enter__()
        self.end = weakref.finalize(self, _end, self._process, self.owner)
        with _entering:
            _helpers.add(self)
        plan = plan_of(setup, 1)
        self._next = plan.total
        try:
            refuse(setup, self._process.prepare(plan))
            # Each pipeline's own, on this machine: time limits are relative to these.
            self._bases = {answer.number: answer for answer in self._process.compile(range(plan.total))}
        except OptctxError:
            self.end()
            raise

    def one(self, setup: Setup, candidate: Candidate) -> Answer:
        if not candidate.point:
            return self._bases[0]
        self._process.ask([asked_of(setup, candidate, self._next)])
        self._next += 1
        (answer,) = self._process.answers()
        return answer


def _end(process: SweepProcess, owner: int) -> None:
    if owner == os.getpid():  # a fork leaves it to the parent
        process.__exit__()


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

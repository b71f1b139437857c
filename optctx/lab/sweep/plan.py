"""An experiment's compilations as plain data, for the processes that compile."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from optctx import OptionContext
from optctx.children.death import End
from optctx.compiling import FreshProcess
from optctx.compiling.job import Job
from optctx.compiling.targets import target_problem
from optctx.errors import OptctxError
from optctx.lab.settings import checked, mebibytes, positive, seconds, setting
from optctx.process import all_arguments, attributes_policy

_BASE = 120.0  # seconds
_LEAST = 10.0  # seconds
_TIMES_BASE = 20


@dataclass(frozen=True)
class Limits:
    """What compilations may take. `jobs`: at once, None for one per processor.

    `timeout`: seconds for each; None is 20 times what the base takes, at least 10, and 120 for the base.
    `memory`: bytes of address space for each, beyond what LLVM itself takes; None is no limit.
    Raises OptctxError for a value that cannot be used.
    """

    title: ClassVar[str] = "limits"
    jobs: int | None = setting(
        None, "compilations at once (one per processor)", short="-j", metavar="N", read=positive
    )
    timeout: float | None = setting(
        None,
        "seconds for a compilation (20 times that of the base, at least 10)",
        metavar="S",
        read=seconds,
    )
    memory: int | None = setting(4 << 30, "memory for a compilation (4096)", metavar="MIB", read=mebibytes)
    most: float | None = None  # seconds, however long the base takes: those of the whole run

    def __post_init__(self) -> None:
        checked(self)

    @property
    def at_once(self) -> int:
        """Compilations at once."""
        return self.jobs or len(os.sched_getaffinity(0))

    def seconds(self, base: float | None = None) -> float:
        """What a compilation may take where the base takes `base` seconds; None if that is not known."""
        usual = _BASE if base is None else max(_LEAST, base * _TIMES_BASE)
        found = usual if self.timeout is None else self.timeout
        return found if self.most is None else min(found, self.most)

    def within(self, seconds: float | None) -> Limits:
        """The same for a run that may take so many seconds: no compilation takes longer."""
        return self if seconds is None else replace(self, most=seconds)


@dataclass(frozen=True)
class Plan:
    """What all compilations of an experiment share. No handles, so it can be sent to another process."""

    jobs: tuple[Job, ...]
    arguments: tuple[str, ...]  # set process-wide before anything is compiled
    attributes: tuple[str, ...]  # the `attributes_policy` of the calling process
    limits: Limits
    names: tuple[str, ...] = ()  # of the jobs in messages, if there are several
    output: bool = False  # whether answers have the object, and the IR if the job emits it
    noted: tuple[str, ...] = ()  # options whose reads answers report
    repeats: int = 1  # compilations of each that is asked for, of which the fastest counts
    directory: str | None = None  # where to compile and put temporary files; None is as this process

    @property
    def pipelines(self) -> tuple[str, ...]:
        """Of the jobs."""
        return tuple(job.passes for job in self.jobs)

    def refused(self, place: int, error: str) -> OptctxError:
        """The error for a job that LLVM refuses."""
        return OptctxError(f"{self.names[place]}: {error}" if self.names else error)


def make_plan(
    jobs: Mapping[str, Job],
    limits: Limits,
    base: OptionContext,
    *,
    pipelines: Sequence[str] = (),
    output: bool = False,
    noted: tuple[str, ...] = (),
    repeats: int = 1,
    directory: str | None = None,
) -> Plan:
    """Plan to compile jobs, by the names of their files, under the options of `base`.

    `pipelines`: each job is planned with each of them; by default with its own. Function attributes count as
    they do in this process. Raises OptctxError for the first target that LLVM does not take.
    """
    judge_targets(jobs)
    planned: dict[str, Job] = {}
    for name, job in jobs.items():
        for passes in pipelines or (job.passes,):
            parts = [name] * (len(jobs) > 1) + [passes] * (len(pipelines) > 1)
            planned[": ".join(parts)] = replace(job, options=(), passes=passes)
    return Plan(
        tuple(planned.values()),
        all_arguments(base),
        attributes_policy(),
        limits,
        tuple(planned) if len(planned) > 1 else (),
        output,
        noted,
        repeats,
        directory,
    )


def judge_targets(jobs: Mapping[str, Job]) -> None:
    """Raise OptctxError for the first job whose target LLVM does not have."""
    suspects = {name: job for name, job in jobs.items() if job.is_checked}
    if not suspects:
        return
    with FreshProcess() as fresh:
        problems = {name: target_problem(fresh.compile, job) for name, job in suspects.items()}
    for name, problem in problems.items():
        if problem is not None:
            raise OptctxError(f"{name}: {problem.error}" if len(jobs) > 1 else problem.error or "")


@dataclass(frozen=True)
class Asked:
    """One compilation. Without options it is the base of its job."""

    job: int
    options: Mapping[str, str]  # what it sets
    limit: float | None = None  # seconds; None is by the limits of the plan


@dataclass(frozen=True)
class Answer:
    """The result of a compilation. Unless `state` is "ok", the numbers are 0 and `digest` is empty."""

    state: End
    number: int = 0  # of what was asked
    instructions: int = 0  # of IR, after the passes
    object_size: int = 0  # bytes
    seconds: float = 0.0  # wall time of parsing, passes and emission, while other threads compile too
    digest: str = ""  # SHA-256 of the object, in hexadecimal
    error: str = ""  # the last line that LLVM printed, or how the process ended
    printed: tuple[str, ...] = ()  # lines on standard output and error
    code: bytes = b""  # the object, if the plan asks for it
    ir: str | None = None
    read: frozenset[str] | None = None  # those of `Plan.noted` that LLVM read; None if unknown

    @property
    def figures(self) -> dict[str, float]:
        """By the names of the goals that every compilation has a figure for."""
        return {"size": self.object_size, "instructions": self.instructions, "compile-time": self.seconds}

"""A whole sweep as plain data, for the processes that compile it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from optctx.compiling.job import Job
from optctx.lab.sweep.emissions import Emitted
from optctx.lab.sweep.grid import DEFAULT, Axis, combination_at, overrides
from optctx.lab.sweep.row import State

__all__ = ["Answer", "Asked", "Plan"]

_BASELINE_LIMIT = 120.0  # seconds
_LEAST_LIMIT = 10.0  # seconds
_TIMES_BASELINE = 20


@dataclass(frozen=True)
class Plan:
    """What to compile. Combinations are numbered job by job, then baselines that are not combinations."""

    jobs: tuple[Job, ...]
    axes: tuple[Axis, ...]
    combinations: int  # of the axes, for each job
    arguments: tuple[str, ...]  # set process-wide before anything is compiled
    attributes: tuple[str, ...]  # the `attributes_policy` of the calling process
    threads: int  # at once
    timeout: float | None  # seconds for a combination; None is relative to the baseline
    memory: int | None  # bytes of address space for a combination, beyond what LLVM itself takes
    seconds: Mapping[int, float] = field(default_factory=dict)  # job -> time of its baseline, where known
    output: bool = False  # whether answers have the object, and the IR if the job emits it
    noted: tuple[str, ...] = ()  # options whose reads answers report
    emit_once: bool = False  # whether equal modules are emitted once; needs `noted`

    @property
    def total(self) -> int:
        """The number of combinations of all jobs."""
        return len(self.jobs) * self.combinations

    def job(self, number: int) -> int:
        """The index of the job that a number belongs to."""
        return number // self.combinations if number < self.total else number - self.total

    def baseline(self, job: int) -> int:
        """The number of a job's baseline. If a combination sets nothing, it is the baseline."""
        index = 0
        for axis in self.axes:
            if DEFAULT not in axis.values:
                return self.total + job
            index = index * len(axis.values) + axis.values.index(DEFAULT)
        return job * self.combinations + index

    def combination(self, number: int) -> dict[str, str]:
        """The value of each axis; `DEFAULT` for all axes of a baseline."""
        if number < self.total:
            return combination_at(self.axes, number % self.combinations)
        return dict.fromkeys((axis.name for axis in self.axes), DEFAULT)

    def asked(self, number: int) -> Asked:
        """Return the request that a number of the plan stands for."""
        return Asked(number, self.job(number), overrides(self.combination(number)))

    def limit(self, baseline: float | None) -> float:
        """Seconds for a combination of a job whose baseline took `baseline` seconds; None if not known."""
        if self.timeout is not None:
            return self.timeout
        return _BASELINE_LIMIT if baseline is None else max(_LEAST_LIMIT, baseline * _TIMES_BASELINE)


@dataclass(frozen=True)
class Asked:
    """One compilation. As a request it has a number that the plan does not have, and options of its own."""

    number: int
    job: int
    options: Mapping[str, str]  # what it sets
    known: tuple[Emitted, ...] = ()  # what other processes have emitted


@dataclass(frozen=True)
class Answer:
    """The result of compiling a combination. The fields are as in `Row`."""

    number: int
    state: State
    instructions: int = 0
    object_size: int = 0
    seconds: float = 0.0
    digest: str = ""
    error: str = ""
    printed: tuple[str, ...] = ()  # lines on standard output and error
    code: bytes = b""  # the object, if the plan asks for it
    ir: str | None = None
    read: frozenset[str] | None = None  # those of `Plan.noted` that LLVM read; None if unknown
    emitted: bool = True  # False: an equal module was emitted before, and `seconds` has the time of then
    emission: Emitted | None = None  # what other processes need not emit, if this one did and kept no object

"""An experiment's compilations as plain data, for the processes that compile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from optctx.compiling.job import Job
from optctx.lab.sweep.emissions import Emitted
from optctx.lab.trials import State

__all__ = ["Answer", "Asked", "Plan"]

_BASELINE_LIMIT = 120.0  # seconds
_LEAST_LIMIT = 10.0  # seconds
_TIMES_BASELINE = 20


@dataclass(frozen=True)
class Plan:
    """What all compilations of an experiment share. A number below that of the jobs is a job's baseline,
    which sets nothing; requests have larger ones.
    """

    jobs: tuple[Job, ...]
    arguments: tuple[str, ...]  # set process-wide before anything is compiled
    attributes: tuple[str, ...]  # the `attributes_policy` of the calling process
    threads: int  # at once
    timeout: float | None  # seconds for a compilation; None is relative to the baseline
    memory: int | None  # bytes of address space for a compilation, beyond what LLVM itself takes
    seconds: Mapping[int, float] = field(default_factory=dict)  # job -> time of its baseline, where known
    output: bool = False  # whether answers have the object, and the IR if the job emits it
    noted: tuple[str, ...] = ()  # options whose reads answers report
    emit_once: bool = False  # whether equal modules are emitted once; needs `noted`
    directory: str | None = None  # where to compile and put temporary files; None is as this process

    @property
    def total(self) -> int:
        """The number of jobs."""
        return len(self.jobs)

    def asked(self, number: int) -> Asked:
        """Return the request for the baseline of a job."""
        return Asked(number, number, {})

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
    limit: float | None = None  # seconds; None is that of the plan


@dataclass(frozen=True)
class Answer:
    """The result of a compilation. Unless `state` is "ok", the numbers are 0 and `digest` is empty."""

    number: int
    state: State
    instructions: int = 0  # of IR, after the passes
    object_size: int = 0  # bytes
    seconds: float = 0.0  # wall time of parsing, passes and emission, while other threads compile too
    digest: str = ""  # SHA-256 of the object, in hexadecimal
    error: str = ""  # the last line that LLVM printed, or how the process ended
    printed: tuple[str, ...] = ()  # lines on standard output and error
    code: bytes = b""  # the object, if the plan asks for it
    ir: str | None = None
    read: frozenset[str] | None = None  # those of `Plan.noted` that LLVM read; None if unknown
    emitted: bool = True  # False: an equal module was emitted before, and `seconds` has the time of then
    emission: Emitted | None = None  # what other processes need not emit, if this one did and kept no object

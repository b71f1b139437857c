"""What a compilation may take, what comes of it, and what a fresh process says of that."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from optctx.children.death import OF_MACHINE, End
from optctx.compiling import Result
from optctx.lab.settings import checked, positive, seconds, setting
from optctx.lab.trial import Goal, Trial

_BASE, _LEAST, _TIMES_BASE = 120.0, 10.0, 20  # seconds, seconds, times the base


@dataclass(frozen=True)
class Limits:
    """What compilations may take. `jobs`: at once, None for one per processor.

    `timeout`: seconds for each; None is 20 times what the base takes, at least 10, and 120 for the base.
    `memory`: bytes of address space for each, beyond what LLVM itself takes; None is no limit.
    Raises OptctxError for jobs and seconds that cannot be used.
    """

    title: ClassVar[str] = "limits"
    jobs: int | None = setting(
        None, "compilations at once (one per processor)", flags="-j --jobs", metavar="N", read=positive
    )
    timeout: float | None = setting(
        None,
        "seconds for a compilation (20 times that of the base, at least 10)",
        metavar="S",
        read=seconds,
    )
    memory: int | None = 4 << 30
    most: float | None = None  # seconds, however long the base takes: those of the whole run

    def __post_init__(self) -> None:
        checked(self)

    @property
    def at_once(self) -> int:
        """Compilations at once."""
        return self.jobs or len(os.sched_getaffinity(0))

    def seconds(self, base: float | None = None, times: int = 1) -> float:
        """What a compilation, or so many in a row, may take where the base takes `base` seconds; None if that
        is not known.
        """
        usual = _BASE if base is None else max(_LEAST, base * _TIMES_BASE)
        found = times * (usual if self.timeout is None else self.timeout)
        return found if self.most is None else min(found, self.most)


@dataclass(frozen=True)
class Answer:
    """The result of a compilation. Unless `state` is "ok", there are no seconds, attributes and code."""

    state: End
    number: int = 0  # of what was asked
    seconds: float = 0.0  # wall time of parsing, passes and emission, while other threads compile too
    attributes: Mapping[str, Any] = field(default_factory=dict)  # as `attributes_of` tells them
    error: str = ""  # the last line that LLVM printed, or how the process ended
    printed: tuple[str, ...] = ()  # lines on standard output and error
    code: bytes = b""  # the object, if the plan asks for it
    read: frozenset[str] | None = None  # those of `Plan.noted` that LLVM read; None if unknown

    @property
    def digest(self) -> str:
        return str(self.attributes.get("digest", ""))


def attributes_of(result: Result) -> dict[str, Any]:
    """What a trial tells of an object, and what has to be equal for two compilations to agree."""
    digest = hashlib.sha256(result.code).hexdigest()
    return {"digest": digest, "size": len(result.code), "instructions": result.instructions}


def trial_of(answer: Answer, options: Mapping[str, str], goal: Goal | None = None) -> Trial:
    """The trial of a compilation. `goal`: one of `FIGURES`, by which it is compared."""
    figures = {**answer.attributes, "compile-time": answer.seconds}
    figure = None if goal is None or answer.state != "ok" else float(figures[goal.name])
    return Trial(
        answer.number, options, answer.state, figure, answer.seconds, answer.error, answer.attributes
    )


def verified(trial: Trial, reference: Result) -> Trial:
    """The trial with the verdict of a fresh process, or with the reason why there is none."""
    if trial.state in OF_MACHINE and reference.error is None:
        return replace(trial, difference=f"not compared: {trial.error}")
    if reference.end in ("lost", "timed out") or (reference.end in OF_MACHINE and not trial.died):
        return replace(trial, difference=f"not compared: {reference.error}")
    difference = _difference(trial, reference)
    return replace(trial, agrees=not difference, difference=difference)


def _difference(trial: Trial, reference: Result) -> str:
    if reference.error is not None:
        alike = reference.died if trial.died else (trial.state, trial.error) == ("failed", reference.error)
        return "" if alike else reference.error
    found = attributes_of(reference)
    if trial.state == "ok" and trial.attributes == found:
        return ""
    words = "the fresh process gave {instructions} instructions and {size} bytes, with SHA-256 {digest}"
    return words.format(**found)

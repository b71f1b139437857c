"""What became of each compilation of an experiment, and what they are compared by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from optctx.children.death import End
from optctx.errors import OptctxError, shown

Direction = Literal["minimise", "maximise"]
_DIRECTIONS: dict[str, Direction] = {"": "minimise", "min": "minimise", "max": "maximise"}
# What every compilation gives, and what it counts.
FIGURES = {"size": "object bytes", "instructions": "IR instructions", "compile-time": "seconds"}


@dataclass(frozen=True)
class Trial:
    """One set of option values, and what became of it. Plain data.

    `number` counts from 0 in the order of the experiment; a base is below that. `options` are those that
    count for it, with the texts of their values; "default" leaves one alone. `figure` is what it is compared
    by; None unless `state` is "ok". `seconds` is the wall time of its compilation while others compile too;
    what equals one of before counts with the time of then. `error`: the last line that LLVM printed, or how
    the process ended. `attributes`: what else is known, of JSON's types: the `digest` of the object (SHA-256
    in hexadecimal), its `size` in bytes, the `instructions` of the IR after the passes; of run times their
    intervals. `agrees`: whether a fresh process gives the same, byte for byte; None if that was not compared.
    `difference`: what it gave instead, or why it could not be compared.
    """

    number: int
    options: Mapping[str, str]
    state: End
    figure: float | None = None
    seconds: float = 0.0
    error: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    agrees: bool | None = None
    difference: str = ""

    @property
    def died(self) -> bool:
        """Whether the process that compiled it ended without an answer, and not for being late."""
        return self.state not in ("ok", "failed", "timed out", "wrong result")

    @property
    def digest(self) -> str:
        """SHA-256 of the object; "" if there is none."""
        return str(self.attributes.get("digest", ""))


@dataclass(frozen=True)
class Goal:
    """What trials are compared by: its name, what its figures count, and which ones are better."""

    name: str
    unit: str
    direction: Direction = "minimise"
    confirmed: bool = False  # whether the best figure counts only after a second check

    @property
    def sign(self) -> int:
        """What figures are multiplied by so that less is better."""
        return 1 if self.direction == "minimise" else -1

    def better(self, one: Trial, other: Trial | None) -> bool:
        """Whether `one` has a figure, and `other` has none or a worse one."""
        if one.figure is None or other is None or other.figure is None:
            return one.figure is not None
        return self.sign * one.figure < self.sign * other.figure

    def best_of(self, trials: Sequence[Trial], base: Trial | None = None) -> Trial | None:
        """The first of the trials with the best figure, if that is better than the base's."""
        best = base
        for trial in trials:
            if self.better(trial, best):
                best = trial
        return None if best is base else best


def goal_named(text: str) -> Goal:
    """A figure of a compilation, from "size" or "instructions:max". Raises OptctxError for another text."""
    name, _, _ = text.partition(":")
    if name not in FIGURES:
        raise OptctxError(f"expected a goal of {', '.join(FIGURES)}, found {shown(name)}")
    return Goal(name, FIGURES[name], direction_of(text))


def direction_of(text: str) -> Direction:
    """Of a goal such as "size:max". Raises OptctxError for what is behind the colon."""
    name, colon, direction = text.partition(":")
    if direction not in _DIRECTIONS or (colon and not direction):
        raise OptctxError(f"expected {name}:min or {name}:max, found {shown(text)}")
    return _DIRECTIONS[direction]

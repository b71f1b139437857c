"""What trials are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from optctx.errors import OptctxError, shown
from optctx.lab.trials.trial import Trial

Direction = Literal["minimise", "maximise"]

# What every compilation gives, and what it counts.
FIGURES = {"size": "object bytes", "instructions": "IR instructions", "compile-time": "seconds"}
_DIRECTIONS: dict[str, Direction] = {"": "minimise", "min": "minimise", "max": "maximise"}


@dataclass(frozen=True)
class Goal:
    """The name of an objective, what its figures count, and which ones are better."""

    name: str
    unit: str
    direction: Direction = "minimise"
    confirmed: bool = False  # whether the best figure counts only after a second check

    @property
    def sign(self) -> int:
        """What figures are multiplied by so that less is better."""
        return 1 if self.direction == "minimise" else -1

    def better(self, one: float, other: float) -> bool:
        """Whether `one` is better than `other`."""
        return self.sign * one < self.sign * other


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


def figure_of(trial: Trial, name: str) -> float | None:
    """A figure of a trial by its name; None if it has none."""
    if trial.state != "ok":
        return None
    if name == "compile-time" and name not in trial.objectives:
        return trial.seconds
    found = trial.objectives.get(name, trial.attributes.get(name))
    return float(found) if isinstance(found, int | float) else None


def best_of(trials: Sequence[Trial], goal: Goal, base: Trial | None = None) -> Trial | None:
    """The first of the trials with the best figure, if that is better than the base's."""
    best = base if base is not None and base.state == "ok" else None
    for trial in trials:
        if trial.state != "ok":
            continue
        if best is None or goal.better(trial.objectives[goal.name], best.objectives[goal.name]):
            best = trial
    return None if best is base else best

"""What a search goes by: figures of each compilation, or of what it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from optctx.compiling import Emit
from optctx.lab.sweep.plan import Answer
from optctx.lab.trials import FIGURES, Direction, Goal

__all__ = [
    "CompilationTime",
    "Function",
    "Instructions",
    "Objective",
    "Size",
    "Static",
    "emit_for",
]

Wants = Literal["figures", "object", "ir"]


@dataclass(frozen=True)
class Objective:
    """A figure to search by. `wants`: what it needs of a compilation."""

    direction: Direction = "minimise"
    name: ClassVar[str]
    unit: ClassVar[str] = ""
    wants: ClassVar[Wants] = "figures"

    @property
    def goal(self) -> Goal:
        return Goal(self.name, self.unit, self.direction)

    @property
    def identity(self) -> str:
        """All that its figures depend on, for a study that goes on."""
        return f"{self.goal.name}: {self.direction}"


@dataclass(frozen=True)
class Static(Objective):
    """One that a compilation gives by itself."""

    @property
    def goal(self) -> Goal:
        return Goal(self.name, FIGURES[self.name], self.direction)

    def figure(self, answer: Answer) -> float:
        """Of a compilation in state "ok". What it raises is the error of the trial."""
        return answer.figures[self.name]


@dataclass(frozen=True)
class Size(Static):
    """Bytes of the object."""

    name: ClassVar[str] = "size"


@dataclass(frozen=True)
class Instructions(Static):
    """Instructions of IR after the passes."""

    name: ClassVar[str] = "instructions"


@dataclass(frozen=True)
class CompilationTime(Static):
    """Wall time of parsing, passes and emission: the least of three, one compilation at a time."""

    name: ClassVar[str] = "compile-time"


@dataclass(frozen=True)
class Function(Static):
    """A Python function of the object's bytes and of the IR's text after the passes.

    It is called in the process that searches, on the thread that searches. What it raises is the error of the
    trial, and so is a result that is no finite number.
    """

    function: Callable[[bytes, str], float] = lambda code, ir: 0.0
    label: str = "function"
    name: ClassVar[str] = "function"
    wants: ClassVar[Wants] = "ir"

    @property
    def goal(self) -> Goal:
        return Goal(self.label, "", self.direction)

    def figure(self, answer: Answer) -> float:
        return self.function(answer.code, answer.ir or "")


def emit_for(objectives: Sequence[Objective]) -> Emit | None:
    """What compilations have to give for these objectives; None for figures alone."""
    wants = {each.wants for each in objectives}
    if "ir" in wants:
        return "both"
    return "object" if "object" in wants else None

"""What a search goes by: figures of each compilation, or of what it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from optctx.compiling import Emit
from optctx.errors import OptctxError, shown
from optctx.lab.sweep.plan import Answer
from optctx.lab.tuning.names import no_such
from optctx.lab.tuning.results import Direction, Goal

__all__ = [
    "STATIC",
    "CompilationTime",
    "Function",
    "Instructions",
    "Objective",
    "Size",
    "Static",
    "emit_for",
    "objective_named",
]

Wants = Literal["figures", "object", "ir"]


@dataclass(frozen=True)
class Objective:
    """A figure to search by. `wants`: what it needs of a compilation. `intermediate`: whether there are
    figures before the last one.
    """

    direction: Direction = "minimise"
    name: ClassVar[str]
    unit: ClassVar[str]
    wants: ClassVar[Wants] = "figures"
    intermediate: ClassVar[bool] = False

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

    def figure(self, answer: Answer) -> float:
        """Of a compilation in state "ok". What it raises is the error of the trial."""
        raise NotImplementedError


@dataclass(frozen=True)
class Size(Static):
    """Bytes of the object."""

    name: ClassVar[str] = "size"
    unit: ClassVar[str] = "object bytes"

    def figure(self, answer: Answer) -> float:
        return answer.object_size


@dataclass(frozen=True)
class Instructions(Static):
    """Instructions of IR after the passes."""

    name: ClassVar[str] = "instructions"
    unit: ClassVar[str] = "IR instructions"

    def figure(self, answer: Answer) -> float:
        return answer.instructions


@dataclass(frozen=True)
class CompilationTime(Static):
    """Wall time of parsing, passes and emission: the least of three, one compilation at a time."""

    name: ClassVar[str] = "compile-time"
    unit: ClassVar[str] = "seconds"

    def figure(self, answer: Answer) -> float:
        return answer.seconds


@dataclass(frozen=True)
class Function(Static):
    """A Python function of the object's bytes and of the IR's text after the passes.

    It is called in the process that searches, on the thread that searches. What it raises is the error of the
    trial, and so is a result that is no finite number.
    """

    function: Callable[[bytes, str], float] = lambda code, ir: 0.0
    label: str = "function"
    name: ClassVar[str] = "function"
    unit: ClassVar[str] = ""
    wants: ClassVar[Wants] = "ir"

    @property
    def goal(self) -> Goal:
        return Goal(self.label, "", self.direction)

    def figure(self, answer: Answer) -> float:
        return self.function(answer.code, answer.ir or "")


STATIC: dict[str, Static] = {each.name: each for each in (Size(), Instructions(), CompilationTime())}
RUNNING = ("time", "callgrind", "command")
_DIRECTIONS: dict[str, Direction] = {"min": "minimise", "max": "maximise"}


def objective_named(text: str, make: Callable[[str], Objective] | None = None) -> Objective:
    """From "size" or "instructions:max". `make`: gives those that run something, by name, and may raise.

    Raises OptctxError for a name that is none.
    """
    name, colon, direction = text.partition(":")
    known = [*STATIC, *(RUNNING if make is not None else ())]
    if name not in known:
        raise no_such("objective", name, known)
    if colon and direction not in _DIRECTIONS:
        raise OptctxError(f"expected {name}:min or {name}:max, found {shown(text)}")
    objective = STATIC[name] if name in STATIC or make is None else make(name)
    return replace(objective, direction=_DIRECTIONS[direction]) if colon else objective


def emit_for(objectives: Sequence[Objective]) -> Emit | None:
    """What compilations have to give for these objectives; None for figures alone."""
    wants = {each.wants for each in objectives}
    if "ir" in wants:
        return "both"
    return "object" if "object" in wants else None

"""The result of one combination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["STATES", "Row", "State"]

# failed: LLVM refused to compile, with an error; crashed: the process ended, by a signal or a fatal error
State = Literal["ok", "failed", "crashed", "timed out"]
STATES: tuple[State, ...] = ("ok", "failed", "crashed", "timed out")


@dataclass(frozen=True)
class Row:
    """The result of one combination. Unless `state` is "ok", the numbers are 0 and `digest` is empty."""

    options: dict[str, str]  # every axis, with the text of its value
    instructions: int  # of IR, after the passes
    object_size: int  # bytes
    seconds: float  # wall time of parsing, passes and emission, while other threads compile too
    agrees: bool | None  # whether a fresh process gives the same, byte for byte; None if not compared
    digest: str  # SHA-256 of the object, in hexadecimal
    difference: str = ""  # how the fresh process's output differs, or why it could not be compared
    state: State = "ok"
    error: str = ""  # the last line that LLVM printed, or how the process ended
    file: str = ""  # the name of the job
    baseline: bool = False  # no axis sets an option; it is not one of the combinations

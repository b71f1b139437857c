"""What a bench and its helper process tell each other."""

from __future__ import annotations

from dataclasses import dataclass, field

from optctx.lab.timing.harness import Harness
from optctx.lab.timing.results import Clock, Outcome, Tolerance

__all__ = ["BASE", "Checked", "Examine", "Ready", "Round", "Rounded", "Setup"]

BASE = ""  # the name of the base among objects; candidates are named by their digests


@dataclass(frozen=True)
class Setup:
    """The first message. `lock`: whether the processor is to be locked; `processor` None takes any."""

    harness: Harness
    base: bytes
    tolerance: Tolerance
    clock: Clock
    processor: int | None
    lock: bool
    patience: float  # seconds to wait for the processor
    timeout: float  # seconds that one call of the base may take


@dataclass(frozen=True)
class Ready:
    """The answer. `error`: why the bench cannot be used, or ""."""

    error: str = ""
    processor: int = -1
    calls: int = 1  # in one sample
    sample: float = 0.0  # seconds of wall time that such a sample of the base takes


@dataclass(frozen=True)
class Examine:
    """One call of an object, compared with the base. The answer is a Checked."""

    name: str
    code: bytes
    seconds: float  # that the call may take


@dataclass(frozen=True)
class Checked:
    name: str
    outcome: Outcome


@dataclass(frozen=True)
class Round:
    """Samples of the base, a second copy of it, and objects that were found right, in random order."""

    names: tuple[str, ...]
    seed: int
    calls: int
    samples: int  # of each
    seconds: float  # that one sample may take


@dataclass(frozen=True)
class Rounded:
    """`samples`: seconds by the clock that counts, in the order they were taken. The second copy of the base
    is AGAIN. `dead`: what did not live to the end of the round. `cpu` and `wall`: seconds of all samples.
    """

    samples: dict[str, list[float]]
    dead: dict[str, Outcome] = field(default_factory=dict)
    cpu: float = 0.0
    wall: float = 0.0


AGAIN = "again"

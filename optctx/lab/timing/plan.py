"""What a bench and its helper process tell each other."""

from __future__ import annotations

from msgspec import Struct, field

from optctx.lab.timing.harness import Harness
from optctx.lab.timing.results import Clock, Outcome, Tolerance

__all__ = ["BASE", "Checked", "Examine", "Ready", "Round", "Rounded", "Setup"]

BASE = ""  # the name of the base among objects; candidates are named by their digests


class Setup(Struct, frozen=True, tag=True):
    """The first message. `lock`: whether the processor is to be locked; `processor` None takes any."""

    harness: Harness
    base: bytes
    tolerance: Tolerance
    clock: Clock
    processor: int | None
    lock: bool
    patience: float  # seconds to wait for the processor
    timeout: float  # seconds that one call of the base may take


class Ready(Struct, frozen=True, tag=True):
    """The answer. `error`: why the bench cannot be used, or ""."""

    error: str = ""
    processor: int = -1
    calls: int = 1  # in one sample
    sample: float = 0.0  # seconds of wall time that such a sample of the base takes


class Examine(Struct, frozen=True, tag=True):
    """One call of an object, compared with the base. The answer is a Checked."""

    name: str
    code: bytes
    seconds: float  # that the call may take


class Checked(Struct, frozen=True, tag=True):
    name: str
    outcome: Outcome


class Round(Struct, frozen=True, tag=True):
    """Samples of the base, a second copy of it, and objects that were found right, in random order."""

    names: tuple[str, ...]
    seed: int
    calls: int
    samples: int  # of each
    seconds: float  # that one sample may take


class Rounded(Struct, frozen=True, tag=True):
    """`samples`: seconds by the clock that counts, in the order they were taken. The second copy of the base
    is AGAIN. `dead`: what did not live to the end of the round. `cpu` and `wall`: seconds of all samples.
    """

    samples: dict[str, list[float]]
    dead: dict[str, Outcome] = field(default_factory=dict)
    cpu: float = 0.0
    wall: float = 0.0


AGAIN = "again"

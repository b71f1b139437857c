"""Where what was compiled is run."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from optctx.lab.timing import Confirmation, Interval, Stop
from optctx.lab.tuning.measured import Measure, Measured, RunTime

__all__ = ["Here", "Place"]


class Place(Protocol):
    """Measures for a search."""

    def session(
        self, objective: Measured, base: bytes, stop: Stop | None = None
    ) -> AbstractContextManager[Measure]:
        """As the objective's own session. Raises OptctxError if the base cannot be run."""

    def confirm(
        self, objective: RunTime, base: bytes, code: bytes, first: Interval, seed: int
    ) -> Confirmation:
        """Check one candidate again."""


class Here:
    """This machine."""

    def session(
        self, objective: Measured, base: bytes, stop: Stop | None = None
    ) -> AbstractContextManager[Measure]:
        return objective.session(base, stop)

    def confirm(
        self, objective: RunTime, base: bytes, code: bytes, first: Interval, seed: int
    ) -> Confirmation:
        return objective.confirm(base, code, first, seed)

"""Work around calls that may come thousands of times in a second."""

from __future__ import annotations

import time

__all__ = ["Allowance"]


class Allowance:
    """Lets work be done so many times a second, and `at_once` times in a row.

    Any number of threads may ask at once: what two do at the same moment may count once.
    """

    def __init__(self, each_second: float, at_once: int) -> None:
        self._apart = 1 / each_second
        self._tolerance = (at_once - 0.5) * self._apart
        self._next = time.monotonic()  # when the work would be due if it were done in regular intervals

    def take(self) -> bool:
        """Whether the work may be done now, which counts."""
        now = time.monotonic()
        if now < self._next - self._tolerance:
            return False
        self._next = max(self._next, now) + self._apart
        return True

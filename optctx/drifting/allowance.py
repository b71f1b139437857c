"""A rate limit for work around calls that can come thousands of times in a second."""

from __future__ import annotations

import time

__all__ = ["Allowance"]


class Allowance:
    """Allows `each_second` pieces of work a second, and `at_once` pieces in a row.

    Any number of threads can ask at once. Two that ask at the same moment may count as one.
    """

    def __init__(self, each_second: float, at_once: int) -> None:
        self._apart = 1 / each_second
        self._tolerance = (at_once - 0.5) * self._apart
        self._next = time.monotonic()  # when the next piece would be due at regular intervals

    def take(self) -> bool:
        """Return whether the work may be done now. If so, it counts as done."""
        now = time.monotonic()
        if now < self._next - self._tolerance:
            return False
        self._next = max(self._next, now) + self._apart
        return True

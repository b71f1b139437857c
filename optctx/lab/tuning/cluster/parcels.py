"""How many tasks are sent to a worker at once: handing over a short one costs as much as doing it."""

from __future__ import annotations

from collections import deque

__all__ = ["Parcels"]

_SHORT = 1.0  # seconds of work in a parcel of several tasks
_LAST = 8  # tasks that have to be known before there is one


class Parcels:
    """Knows how long the last tasks took.

    The results of a parcel arrive together, and a lost worker loses it whole. So tasks go one by one until
    several of them were short, and again as soon as one was not.
    """

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_LAST)

    def took(self, seconds: float) -> None:
        """Take note of a task that has ended."""
        self._seconds.append(seconds)

    def size(self, waiting: int, places: int) -> int:
        """Tasks for the next parcel, of those waiting for so many places; at least 1."""
        if len(self._seconds) < _LAST:
            return 1
        share = -(-waiting // places)
        longest = max(self._seconds)
        return max(1, share if longest * share <= _SHORT else int(_SHORT / longest))

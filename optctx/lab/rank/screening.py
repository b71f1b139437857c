"""Which values are compiled together: a group that changes nothing needs no compilation for each value.

Most values change nothing. A group whose output is the base's has none that does, but for effects that cancel
each other (design/rank.md has how often). Another group is split, and so is one that crashes or hangs. The
groups with the largest effect are split first, so a ranking that ends early knows the largest effects.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence

__all__ = ["DEAD", "Screen"]

DEAD = 0.05  # the effect of a group without output: it may hide anything
_UNKNOWN = 100.0  # that of a group that was not compiled yet

_PARTS = 4  # of a group that is split
_FIRST = 16  # values in a group at first
_LATER = 64  # of options of which a value has changed nothing already


class Screen:
    """Gives what is to be compiled next, and takes what came of it.

    `values`: the numbers of the values of each option, the most ordinary first. `known`: numbers of which
    the effect is known already: 0 if a value changes nothing. `groups`: without them each value is compiled
    by itself.
    """

    def __init__(
        self, values: Sequence[Sequence[int]], known: Mapping[int, float], *, groups: bool = True
    ) -> None:
        self._option = {number: place for place, own in enumerate(values) for number in own}
        self._waiting = [[number for number in own if number not in known] for own in values]
        self._first = _FIRST if groups else 1
        self._later = _LATER if groups else 1
        self._heap: list[tuple[float, int, tuple[int, ...]]] = []
        self._order = 0
        self._begun = False
        self._hot: set[int] = set()
        for number, effect in known.items():
            if effect and number in self._option:
                self._found(number, effect)

    def next(self) -> tuple[int, ...] | None:
        """The numbers of values to compile together; None if there is nothing that can be compiled now."""
        if not self._heap:
            self._push_groups()
        return heapq.heappop(self._heap)[2] if self._heap else None

    def result(self, numbers: Sequence[int], effect: float) -> None:
        """Enter what came of a compilation. `effect`: 0 if the output was the base's."""
        if not effect:
            return
        if len(numbers) == 1:
            self._found(numbers[0], effect)
            return
        size = -(-len(numbers) // _PARTS)
        for start in range(0, len(numbers), size):
            self._push(numbers[start : start + size], effect)

    def _found(self, number: int, effect: float) -> None:
        """The other values of an option that matters are compiled alone, soon."""
        option = self._option[number]
        self._hot.add(option)
        for other in self._waiting[option]:
            self._push([other], effect)
        self._waiting[option] = []

    def _push_groups(self) -> None:
        """The next value of every option that does not matter so far.

        Options that are read one after the other go into different groups: those of one pass hide each
        other's effects more often than others do.
        """
        turn = [own.pop(0) for own in self._waiting if own]
        groups = -(-len(turn) // (self._later if self._begun else self._first))
        self._begun = True
        for place in range(groups):
            self._push(turn[place::groups], _UNKNOWN)

    def _push(self, numbers: Sequence[int], effect: float) -> None:
        self._order += 1
        heapq.heappush(self._heap, (-effect, self._order, tuple(numbers)))

    @property
    def left(self) -> Collection[int]:
        """The numbers that wait for a compilation."""
        waiting = [number for own in self._waiting for number in own]
        return [*waiting, *(number for _, _, numbers in self._heap for number in numbers)]

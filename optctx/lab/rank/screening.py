"""Which values are compiled together: a group that changes nothing needs no compilation for each value.

Most values change nothing. A group whose output is the base's has none that does, but for effects that cancel
each other (design/rank.md has how often). Another group is split, and so is one that crashes or hangs. The
groups with the largest effect are split first, so a ranking that ends early knows the largest effects.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

DEAD = 0.05  # the effect of a group without output: it may hide anything
_UNKNOWN = 100.0  # that of a group that was not compiled yet

_PARTS = 3  # of a group that is split
_FIRST = 16  # values in a group at first
_LATER = 64  # of options of which a value has changed nothing already


class Screen:
    """Gives what is to be compiled next, and takes what came of it.

    `values`: the numbers of the values of each option, the most telling first. `spare`: more of each option,
    of which the next one is compiled if none before gave output. `known`: numbers of which the effect is
    known already: 0 if a value changes nothing, DEAD if it gave no output. `likely`: places of options that
    are likely to matter: their first value goes into no group, and the spare ones are compiled until one
    changes something. `groups`: without them each value is compiled by itself.
    """

    def __init__(
        self,
        values: Sequence[Sequence[int]],
        known: Mapping[int, float],
        *,
        spare: Sequence[Sequence[int]] = (),
        likely: Sequence[int] = (),
        groups: bool = True,
    ) -> None:
        spare = spare or [()] * len(values)
        self._waiting = [[number for number in own if number not in known] for own in values]
        self._spare = [[number for number in own if number not in known] for own in spare]
        self._option = {
            number: place
            for place, own in enumerate(zip(values, spare, strict=True))
            for number in (*own[0], *own[1])
        }
        self._sizes = (_FIRST, _LATER) if groups else (1, 1)
        self._heap: list[tuple[float, int, tuple[int, ...]]] = []
        self._under_way: set[tuple[int, ...]] = set()
        self._order = 0
        self._begun = False
        self._likely = frozenset(likely)
        self._effects: list[list[float]] = [[] for _ in values]
        for number, effect in known.items():
            self._effects[self._option[number]].append(effect)
        for option, effects in enumerate(self._effects):
            if effects:
                self._go_on(option, max(effects))
        for option in likely:
            if self._waiting[option] and not self._effects[option]:
                self._push([self._waiting[option].pop(0)], _UNKNOWN)

    def next(self) -> tuple[int, ...] | None:
        """The numbers of values to compile together; None if there is nothing that can be compiled now."""
        if not self._heap:
            self._push_groups()
        if not self._heap:
            return None
        numbers = heapq.heappop(self._heap)[2]
        self._under_way.add(numbers)
        return numbers

    def result(self, numbers: Sequence[int], effect: float) -> None:
        """Enter what came of a compilation. `effect`: 0 if the output was the base's."""
        self._under_way.discard(tuple(numbers))
        if effect and len(numbers) > 1:
            size = -(-len(numbers) // _PARTS)
            for start in range(0, len(numbers), size):
                self._push(numbers[start : start + size], effect)
            return
        for option in (self._option[number] for number in numbers):
            self._effects[option].append(effect)
            self._go_on(option, effect)

    def _go_on(self, option: int, effect: float) -> None:
        """The other values of an option that matters are compiled alone, soon."""
        if effect:
            for other in self._waiting[option]:
                self._push([other], effect)
            self._waiting[option] = []
        if self._spare[option]:
            if all(each == DEAD for each in self._effects[option]):
                self._push([self._spare[option].pop(0)], effect)
            elif option in self._likely and all(each in (0, DEAD) for each in self._effects[option]):
                self._waiting[option].append(self._spare[option].pop(0))

    def _push_groups(self) -> None:
        """The next value of every option that does not matter so far.

        Options that are read one after the other go into different groups: those of one pass hide each
        other's effects more often than others do.
        """
        turn = [own.pop(0) for own in self._waiting if own]
        groups = -(-len(turn) // self._sizes[self._begun])
        self._begun = True
        for place in range(groups):
            self._push(turn[place::groups], _UNKNOWN)

    def _push(self, numbers: Sequence[int], effect: float) -> None:
        self._order += 1
        heapq.heappush(self._heap, (-effect, self._order, tuple(numbers)))

    @property
    def left(self) -> list[int]:
        """The numbers that wait for a compilation, or for what came of it."""
        waiting = [number for own in self._waiting for number in own]
        groups = [*(numbers for _, _, numbers in self._heap), *self._under_way]
        return [*waiting, *(number for numbers in groups for number in numbers)]

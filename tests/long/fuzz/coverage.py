"""Which values of tuning options have met in one compilation: pairs, of those that LLVM reads together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from random import Random

from optctx import Option
from tests.long.fuzz.words import Setting
from tests.long.probe.values import spread_values

__all__ = ["Coverage", "Values"]

_CANDIDATES = 4  # of which the one with the most new pairs joins a set
# The largest that are tried: over more LLVM takes minutes for loops in loops, also if their metadata asks for
# it.
_MOST = {"unroll-count": 7, "unroll-and-jam-count": 7}


class Values:
    """The values of options that are tried, numbered."""

    def __init__(self, options: Sequence[Option]) -> None:
        self.settings: list[Setting] = []
        self.numbers: dict[str, range] = {}  # of an option's values
        for option in options:
            begin = len(self.settings)
            most = _MOST.get(option.name, math.inf)
            values = [value for value in spread_values(option) if most == math.inf or int(value) <= most]
            self.settings += (Setting(option.name, value) for value in values)
            self.numbers[option.name] = range(begin, len(self.settings))

    def among(self, name: str, other: str) -> int:
        """How many pairs of values two options have."""
        return len(self.numbers[name]) * len(self.numbers[other])


class Coverage:
    """Pairs of values that met, and pairs of options that were read in one compilation.

    `met` and `options_met` count those of which both options were set and read; `together` and
    `options_together` are how many there are to meet, as far as is known.
    """

    def __init__(self, values: Values) -> None:
        self.met = self.options_met = self.together = self.options_together = 0
        self._values = values
        self._size = len(values.settings)
        self._pairs = bytearray(self._size**2)
        self._met_options: set[tuple[str, str]] = set()
        self._read_options: set[tuple[str, str]] = set()

    def read(self, names: Iterable[str]) -> None:
        """All of these options are read in one compilation."""
        found = set(combinations(sorted(names), 2)) - self._read_options
        self._read_options |= found
        self.options_together += len(found)
        self.together += sum(self._values.among(*pair) for pair in found)

    def add(self, numbers: Iterable[int]) -> None:
        """These values met, in a compilation that read their options."""
        for pair in combinations(sorted(numbers), 2):
            at = pair[0] * self._size + pair[1]
            if not self._pairs[at]:
                self._pairs[at] = 1
                self.met += 1
                self._met_options.add(self._names(*pair))
        self.options_met = len(self._met_options)

    def draw(self, random: Random, names: Sequence[str], count: int) -> list[int]:
        """Values of so many of the options, which have met as little as a few tries find."""
        chosen: list[int] = []
        left = random.sample(names, len(names))
        while left and len(chosen) < count:
            places = random.sample(range(len(left)), min(_CANDIDATES, len(left)))
            candidates = [(place, random.choice(self._values.numbers[left[place]])) for place in places]
            place, number = max(candidates, key=lambda each: self._news(each[1], chosen))
            chosen.append(number)
            del left[place]
        return chosen

    def _news(self, number: int, others: Sequence[int]) -> int:
        """How many of the others it has not met."""
        size, pairs = self._size, self._pairs
        return sum(not pairs[min(number, each) * size + max(number, each)] for each in others)

    def _names(self, first: int, second: int) -> tuple[str, str]:
        one, other = sorted((self._values.settings[first].name, self._values.settings[second].name))
        return one, other

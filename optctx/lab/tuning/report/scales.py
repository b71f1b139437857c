"""Where the values of an option stand on an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["Scale", "scale_of", "span"]

_WIDE = 32  # times the least value: from here on an axis may be logarithmic
_FEW = 12  # different numbers that are ticks of their own, and count as choices


class Scale:
    """The values of one option, in the order of an axis. `numbers`: theirs, if all of them are numbers."""

    def __init__(self, texts: tuple[str, ...], numbers: tuple[float, ...] = ()) -> None:
        self.texts = texts
        self.numbers = numbers
        # The number of each text: its own, or its place among the choices.
        self.values = dict(zip(texts, numbers or map(float, range(len(texts))), strict=True))
        # Whether the axis is logarithmic: most of the numbers would stand at its beginning.
        wide = bool(numbers) and numbers[0] > 0 and numbers[-1] / numbers[0] >= _WIDE
        self.log = wide and numbers[len(numbers) // 2] <= numbers[-1] / 4
        # The same as `values` on an axis without a scale of its own.
        self.places = {text: math.log10(value) if self.log else value for text, value in self.values.items()}

    @property
    def few(self) -> bool:
        return len(self.texts) <= _FEW

    def ticks(self, most: int) -> list[str]:
        """At most so many of the texts, evenly over the axis and with both ends."""
        if len(self.texts) <= most:
            return list(self.texts)
        last = len(self.texts) - 1
        if not self.numbers:
            return [self.texts[round(place * last / (most - 1))] for place in range(most)]
        low, high = self.places[self.texts[0]], self.places[self.texts[-1]]
        wanted = [low + (high - low) * place / (most - 1) for place in range(most)]
        return list(dict.fromkeys(min(self.texts, key=lambda t: abs(self.places[t] - at)) for at in wanted))


def scale_of(texts: Iterable[str]) -> Scale:
    """The scale of these values: by number if all are, otherwise as choices by name."""
    distinct = list(dict.fromkeys(texts))
    numbers = {text: _number(text) for text in distinct}
    known = {text: number for text, number in numbers.items() if number is not None}
    if len(known) == len(distinct):
        ordered = sorted(distinct, key=known.__getitem__)
        return Scale(tuple(ordered), tuple(known[text] for text in ordered))
    return Scale(tuple(sorted(distinct, key=lambda text: (known.get(text, math.inf), text))))


def span(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis for values from `low` to `high`, which may be equal."""
    margin = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    return low - margin, high + margin


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e300 else None  # nor NaN: differences of ends stay finite

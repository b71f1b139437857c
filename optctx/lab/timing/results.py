"""What checking and timing candidates gives, as plain data."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from optctx.children.death import End
from optctx.errors import OptctxError
from optctx.lab.timing.processors import Conditions

_RESAMPLES = 2000  # of a bootstrap

Clock = Literal["cpu", "wall"]


@dataclass(frozen=True)
class Tolerance:
    """How far floats may be from the base's: by `absolute`, or by `relative` times the base's size.

    Both 0 asks for equal bytes; a NaN equals any NaN. Integers are compared exactly at any tolerance.
    """

    relative: float = 0.0
    absolute: float = 0.0

    def __post_init__(self) -> None:
        for bound in (self.relative, self.absolute):
            if not (isinstance(bound, int | float) and 0 <= bound < float("inf")):
                raise OptctxError(f"a tolerance is a number that is not negative, found {bound!r}")


@dataclass(frozen=True)
class Difference:
    """Where an output is not the base's.

    `argument`: its place, from 0; None for the returned value. `index`: of the first element that differs.
    `differing`: how many do. `outside`: the call wrote beyond the array; the two values say nothing then.
    """

    argument: int | None
    index: tuple[int, ...]
    expected: int | float
    found: int | float
    differing: int
    outside: bool = False

    @property
    def where(self) -> str:
        """The first element that differs, in words."""
        if self.argument is None:
            return "the returned value"
        return f"argument {self.argument + 1}{list(self.index)}"

    def __str__(self) -> str:
        if self.outside and self.argument is not None:
            return f"it writes beyond the array of argument {self.argument + 1}"
        does = "returns" if self.argument is None else "leaves"
        more = f"; {self.differing:,} elements differ" if self.differing > 1 else ""
        return f"{self.where} is {self.found!r}, and the base {does} {self.expected!r}{more}"


@dataclass(frozen=True)
class Outcome:
    """What one call on the seeded inputs came to. "failed": the object could not be loaded."""

    state: End
    error: str = ""
    difference: Difference | None = None


@dataclass(frozen=True)
class Interval:
    """A median, and the bootstrap interval around it."""

    middle: float
    low: float
    high: float
    confidence: float = 0.95

    @property
    def width(self) -> float:
        """Of the interval, as a part of the median."""
        return (self.high - self.low) / self.middle

    def __str__(self) -> str:
        return f"{self.middle:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class Timing:
    """How long one call takes, and how many times as fast as the base it is: `ratio` is base / this.

    Both None unless the outcome is "ok". The base's own ratio is that to itself. `rounds`: of processes.
    """

    outcome: Outcome
    seconds: Interval | None = None
    ratio: Interval | None = None
    rounds: int = 0


@dataclass(frozen=True)
class Measurement:
    """Base and candidates, timed in the same rounds on one processor.

    `noise`: the ratio of the base to a second copy of itself. `waited`: the part of wall time in which the
    processor worked for another process. `seconds`: that measuring took. `narrow`: every interval is as
    narrow as the budget asked for; otherwise the budget ended first. `conditions`: of the machine, as
    measuring began.
    """

    base: Timing
    candidates: dict[str, Timing]
    noise: Interval
    processor: int
    clock: Clock
    waited: float
    seconds: float
    seed: int
    narrow: bool
    conditions: Conditions

    def faster(self) -> list[str]:
        """Names of candidates whose whole interval lies above 1 and above the noise, the fastest first.

        Each is faster in this measurement; `confirm` tells whether it is in another one.
        """
        above = [
            (timing.ratio.middle, name)
            for name, timing in self.candidates.items()
            if timing.ratio is not None and is_gain(timing.ratio, self.noise)
        ]
        return [name for _, name in sorted(above, reverse=True)]


def is_gain(ratio: Interval, noise: Interval) -> bool:
    """Whether a ratio is above 1 beyond doubt, and above what the machine makes of the base itself."""
    return ratio.low > max(1.0, noise.high)


@dataclass(frozen=True)
class Confirmation:
    """A second check of one candidate, in another process with another order and other places in memory.

    `gain`: both intervals are above 1, and the second above its noise. `second` is the one to announce: the
    first may have been picked because it was high.
    """

    gain: bool
    first: Interval
    second: Interval | None
    noise: Interval
    measurement: Measurement
    outcome: Outcome

    def __str__(self) -> str:
        if self.second is None:
            return f"no gain: {self.outcome.error or self.outcome.state}"
        times = f"{self.second.middle:.2f} times as fast ({self.second.low:.2f} to {self.second.high:.2f})"
        if self.gain:
            return f"{times}, confirmed"
        noise = f"the base against itself {self.noise.low:.2f} to {self.noise.high:.2f}"
        return f"no gain: {times} in the second check, {noise}"


@dataclass(frozen=True)
class Budget:
    """When measuring ends: once every interval is narrower than `width` (a part of its median), or at
    `seconds` of wall time, or after `rounds`. At least ten rounds are run.
    """

    seconds: float = 10.0
    rounds: int = 100
    width: float = 0.02


def interval(numbers: Sequence[float], confidence: float, seed: int, resamples: int = _RESAMPLES) -> Interval:
    """The median of independent numbers, and the interval that covers it with that probability.

    It is the percentile bootstrap: B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993),
    chapter 13. What is drawn again are rounds, each a number of its own process, as T. Kalibera and R. Jones,
    Rigorous Benchmarking in Reasonable Time (ISMM 2013), ask for: samples of one process are not independent.
    With ten rounds a percentile interval for 95 % covers the median in 92 to 94 % of all trials. It is
    widened to the exact interval between order statistics (the sign test's), which covers it in 95 % or more
    of any distribution.
    """
    draw = random.Random(seed)
    count = len(numbers)
    medians = sorted(median(draw.choices(numbers, k=count)) for _ in range(resamples))
    outside = (1 - confidence) / 2
    low = medians[int(outside * resamples)]
    high = medians[min(resamples - 1, int((1 - outside) * resamples))]
    ordered = sorted(numbers)
    place = _order(count, outside)
    return Interval(
        median(numbers), min(low, ordered[place]), max(high, ordered[count - 1 - place]), confidence
    )


def _order(count: int, outside: float) -> int:
    """The highest order statistic, from 0, that is above the median with at most this probability."""
    below = 0.0
    for place in range(count // 2):
        below += math.comb(count, place) / 2**count  # this many numbers are below the median
        if below > outside:
            return max(0, place - 1)
    return max(0, count // 2 - 1)

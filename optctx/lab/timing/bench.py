"""Candidates checked and timed beside a base, in rounds: as often as it takes to tell which is faster."""

from __future__ import annotations

import functools
import hashlib
import math
import os
import platform
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from typing import Any, TypeVar

from optctx.children.death import End
from optctx.children.messages import Limits
from optctx.children.pool import SharedPool
from optctx.errors import EndedEarlyError, OptctxError, shown
from optctx.lab.timing.kernel import Harness, Kernel, read_harness
from optctx.lab.timing.loaded import AGAIN, BASE, check, check_base, prepare, sample_all

R = TypeVar("R")
# (objects by name, seed) -> as `Bench._sample`
Sample = Callable[[Mapping[str, bytes], int], "dict[str, float] | Outcome"]

_LEAST_ROUNDS = 10  # fewer say too little about the median
_STEP = 5  # rounds between two looks at the intervals
_LOOK = 500  # resamples of such a look
_GROUP = 8  # candidates that are sampled in turn with one base
_WIDTH = 0.02  # of an interval, as a part of its median, that is narrow enough
_MOST_ROUNDS = 100
_SLOWER = 20  # times as long as the base that a candidate may take
_SETTLING = 30.0  # seconds, beside those of calls, in which a child runs the harness and loads objects
_LAST = 200  # characters of what a child printed, in an error
_RESAMPLES = 2000  # of a bootstrap
_MOST_WRITTEN = 1 << 28  # bytes of a file that a kernel may write

_pool = SharedPool(prepare)


@dataclass(frozen=True)
class Outcome:
    """What running a candidate came to. "failed": it could not be loaded."""

    state: End
    error: str = ""


@dataclass(frozen=True)
class Timing:
    """How long one call takes, and how many times as fast as the base it is: `ratio` is base / this.

    Both None unless the outcome is "ok". The base's own ratio is that to a second copy of itself.
    """

    outcome: Outcome
    seconds: Interval | None = None
    ratio: Interval | None = None


@dataclass(frozen=True)
class Measurement:
    """Base and candidates, timed in the same rounds. `noise`: the ratio of the base to a second copy."""

    base: Timing
    candidates: dict[str, Timing]
    noise: Interval

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


@dataclass(frozen=True)
class Confirmation:
    """A second measurement of one candidate, in other processes and another order.

    `gain`: both intervals are above 1, and the second above its noise. `second` is the one to announce: the
    first may have been picked because it was high.
    """

    gain: bool
    first: Interval
    second: Interval | None
    noise: Interval
    outcome: Outcome

    def __str__(self) -> str:
        if self.second is None:
            return f"no gain: {self.outcome.error or self.outcome.state}"
        times = f"{self.second.middle:.2f} times as fast ({self.second.low:.2f} to {self.second.high:.2f})"
        if self.gain:
            return f"{times}, confirmed"
        noise = f"the base against itself {self.noise.low:.2f} to {self.noise.high:.2f}"
        return f"no gain: {times} in the second check, {noise}"


class Bench:
    """Measures candidates against a base, by calls in children: each alone to judge it, all in rounds.

    The children run on one processor: an isolated one, or the last.
    `timeout`: seconds that one call of the base may take.
    """

    def __init__(self, base: bytes, kernel: Kernel, *, timeout: float = 10.0) -> None:
        self._base, self._kernel, self._timeout = base, kernel, timeout
        self._processor = processors()[0]
        self._calls, self._call = 1, 0.0  # of a sample; seconds of one
        self._outcomes: dict[str, Outcome] = {}  # by digest

    def check(self, candidates: Mapping[str, bytes]) -> dict[str, Outcome]:
        """Run each candidate once beside the base. Raises OptctxError if the base cannot be measured."""
        found = self._run(check_base, self._base, gives=tuple[int, float], seconds=self._timeout)
        if isinstance(found, Outcome):
            raise OptctxError(f"the base cannot be measured: {found.error}")
        self._calls, self._call = found
        digests = _digests(candidates)
        for name, digest in digests.items():
            if digest not in self._outcomes:
                self._outcomes[digest] = self._judge(candidates[name])
        return {name: self._outcomes[digest] for name, digest in digests.items()}

    def _judge(self, code: bytes) -> Outcome:
        """Run a candidate once, and judge what it does."""
        found = self._run(check, self._base, code, gives=str, seconds=self._limit(2))
        if isinstance(found, Outcome):
            return found
        return Outcome("wrong result", found) if found else Outcome("ok")

    def _sample(self, objects: Mapping[str, bytes], seed: int) -> dict[str, float] | Outcome:
        """Run all of them, in an order that the seed says, the base among them under BASE.

        Return their ratios to the base, and under "" the base's own figure; or how that ended.
        """
        given = dict(objects), self._calls, self._call, seed
        calls = 7 * len(objects) * (1 + self._calls)  # as `sample_all` makes them, or fewer
        return self._run(sample_all, *given, gives=dict[str, float], seconds=self._limit(calls))

    def _run(self, function: Any, *arguments: Any, gives: type[R], seconds: float) -> R | Outcome:
        given = self._kernel, *arguments
        return run(function, *given, gives=gives, seconds=seconds, processor=self._processor)

    def _limit(self, calls: int) -> float:
        """Seconds that so many calls may take."""
        return self._timeout + _SLOWER * self._call * calls

    def measure(
        self,
        candidates: Mapping[str, bytes],
        *,
        seconds: float = 5.0,
        seed: int = 0,
        confidence: float = 0.95,
    ) -> Measurement:
        """Time the candidates that are right, in rounds, at least ten.

        In a round, base and candidates are sampled in turn, in random order. Rounds go on until the intervals
        are narrow or the seconds are over. Raises OptctxError if the base cannot be run.
        """
        started = time.monotonic()
        self.check(candidates)
        digests = _digests(candidates)
        codes = {digest: candidates[name] for name, digest in digests.items()}
        right = [digest for digest in codes if self._outcomes[digest].state == "ok"]
        groups = [right[start : start + _GROUP] for start in range(0, len(right) or 1, _GROUP)]
        sums = [
            _Sums(self._base, {digest: codes[digest] for digest in group}, confidence, seed + place)
            for place, group in enumerate(groups)
        ]
        for place, each in enumerate(sums):
            each.run(self._sample, (seconds - (time.monotonic() - started)) / (len(sums) - place))
        timings = {digest: timing for each in sums for digest, timing in each.timings().items()}
        noise = interval([ratio for each in sums for ratio in each.ratios[AGAIN]], confidence, seed)
        return Measurement(
            Timing(Outcome("ok"), sums[0].seconds(), noise),
            {name: timings.get(digest, Timing(self._outcomes[digest])) for name, digest in digests.items()},
            noise,
        )

    def confirm(
        self, candidate: bytes, first: Interval, *, seconds: float = 5.0, seed: int = 1
    ) -> Confirmation:
        """Measure one candidate again, at 99 %.

        `first` is its ratio in the measurement from which it was picked. The second one shares nothing with
        that, if `seed` is another: new processes, and another order.
        """
        found = self.measure({"candidate": candidate}, seconds=seconds, seed=seed, confidence=0.99)
        timing = found.candidates["candidate"]
        gain = timing.ratio is not None and first.low > 1 and is_gain(timing.ratio, found.noise)
        return Confirmation(gain, first, timing.ratio, found.noise, timing.outcome)


@dataclass
class _Sums:
    """What the rounds of a group of candidates give, by their digests."""

    base: bytes
    living: dict[str, bytes]
    confidence: float
    seed: int
    ratios: dict[str, list[float]] = field(default_factory=dict)  # to the base, one for each round
    figures: list[float] = field(default_factory=list)  # of the base
    dead: dict[str, Outcome] = field(default_factory=dict)

    def run(self, sample: Sample, seconds: float) -> None:
        """Run rounds until the intervals are narrow or time is over."""
        deadline = time.monotonic() + seconds
        while True:
            self._round(sample)
            done = len(self.figures)
            if done < _LEAST_ROUNDS:
                continue
            over = done >= _MOST_ROUNDS or time.monotonic() >= deadline
            if over or (done % _STEP == 0 and self._is_narrow()):
                return

    def _round(self, sample: Sample) -> None:
        """Sample all. If that ends early, find out in rounds of their own which of them do not live."""
        seed = hash((self.seed, len(self.figures)))  # of integers: the same in every process
        both = {BASE: self.base, AGAIN: self.base}
        found = sample({**both, **self.living}, seed)
        if isinstance(found, Outcome):
            for digest, code in list(self.living.items()):
                alone = sample({**both, digest: code}, seed)
                if isinstance(alone, Outcome):
                    self.dead[digest] = alone
            if not self.living.keys() & self.dead.keys():
                raise EndedEarlyError(f"the base cannot be measured: {found.error}")
            self.living = {digest: code for digest, code in self.living.items() if digest not in self.dead}
            return
        self.figures.append(found.pop(""))
        for name, ratio in found.items():
            self.ratios.setdefault(name, []).append(ratio)

    def _is_narrow(self) -> bool:
        return all(
            interval(self.ratios[name], self.confidence, self.seed, _LOOK).width <= _WIDTH
            for name in (AGAIN, *self.living)
        )

    def seconds(self, of: str = BASE) -> Interval:
        """Of one call."""
        figures = [figure / ratio for figure, ratio in zip(self.figures, self.ratios[of], strict=True)]
        return interval(figures, self.confidence, self.seed)

    def timings(self) -> dict[str, Timing]:
        """Of the candidates."""
        found = {digest: Timing(outcome) for digest, outcome in self.dead.items()}
        for digest in self.living:
            ratio = interval(self.ratios[digest], self.confidence, self.seed)
            found[digest] = Timing(Outcome("ok"), self.seconds(digest), ratio)
        return found


def _digests(candidates: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(code).hexdigest() for name, code in candidates.items()}


def harness_of(file: str) -> Harness:
    """What a harness says, run in a child. Raises OptctxError for one that cannot be used."""
    found = run(read_harness, os.path.abspath(file), gives=Harness, seconds=_SETTLING)
    if isinstance(found, Outcome):
        named = "" if found.state == "failed" else f"cannot use the harness {shown(file)}: "
        raise OptctxError(f"{named}{found.error}")
    return found


def run(
    function: Any, *arguments: Any, gives: type[R], seconds: float, processor: int | None = None
) -> R | Outcome:
    """Call a function in a child; return its result, or how it ended instead."""
    limits = Limits(seconds=_SETTLING + seconds, processor=processor, files=_MOST_WRITTEN)
    done = _pool.running().call(function, *arguments, gives=gives, limits=limits)
    if done.death is not None and done.death.end == "lost":
        raise EndedEarlyError(str(done.death))
    if done.death is not None:
        late = done.death.end == "timed out"
        words = f"it ran for longer than {limits.seconds:.3g} s" if late else str(done.death)
        return Outcome(done.death.end, words)
    if done.error:
        printed = " ".join(done.printed.split())[-_LAST:]
        return Outcome("failed", f"{done.error}{': ' if printed else ''}{printed}")
    value: Any = done.value
    return value  # type: ignore[no-any-return]


@functools.cache  # the file has a page for each processor, and every task tells the model
def processor_model() -> str:
    """What the processor calls itself."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def processors() -> list[int]:
    """Those that this process may use, isolated ones (`isolcpus`) first."""
    isolated: set[int] = set()
    with suppress(OSError, ValueError), open("/sys/devices/system/cpu/isolated", encoding="ascii") as file:
        for part in filter(None, file.read().strip().split(",")):
            first, _, last = part.partition("-")
            isolated |= set(range(int(first), int(last or first) + 1))
    return sorted(os.sched_getaffinity(0), key=lambda number: (number not in isolated, -number))


# Statistics


@dataclass(frozen=True)
class Interval:
    """A median, and the bootstrap interval around it."""

    middle: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Of the interval, as a part of the median."""
        return (self.high - self.low) / self.middle

    def __str__(self) -> str:
        return f"{self.middle:.3f} ({self.low:.3f} to {self.high:.3f})"


def is_gain(ratio: Interval, noise: Interval) -> bool:
    """Whether a ratio is above 1 beyond doubt, and above what the machine makes of the base itself."""
    return ratio.low > max(1.0, noise.high)


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
    return Interval(median(numbers), min(low, ordered[place]), max(high, ordered[count - 1 - place]))


def _order(count: int, outside: float) -> int:
    """The highest order statistic, from 0, that is above the median with at most this probability."""
    below = 0.0
    for place in range(count // 2):
        below += math.comb(count, place) / 2**count  # this many numbers are below the median
        if below > outside:
            return max(0, place - 1)
    return max(0, count // 2 - 1)

"""Candidates checked and timed beside a base, in rounds: as often as it takes to tell which is faster."""

from __future__ import annotations

import math
import os
import platform
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, ClassVar, TypeVar, cast

from optctx.children.death import End
from optctx.children.messages import Limits
from optctx.children.pool import SharedPool
from optctx.compiling import Job
from optctx.errors import EndedEarlyError, OptctxError, shown
from optctx.lab.settings import setting
from optctx.lab.timing.kernel import Harness, Kernel, find_kernel, harness_beside, read_harness
from optctx.lab.timing.loaded import AGAIN, BASE, check, check_base, prepare, sample_all

R = TypeVar("R")

_LEAST_ROUNDS = 10  # fewer say too little about the median
_STEP = 5  # rounds between two looks at the intervals
_WIDTH = 0.02  # of an interval, as a part of its median, that is narrow enough
_MOST_ROUNDS = 100
_SLOWER = 20  # times as long as the base that a candidate may take
_SETTLING = 30.0  # seconds, beside those of calls, in which a child runs the harness and loads objects
_LAST = 200  # characters of what a child printed, in an error

_pool = SharedPool(prepare)


@dataclass(frozen=True)
class Interval:
    """A median, and an interval that covers it."""

    middle: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Of the interval, as a part of the median."""
        return (self.high - self.low) / self.middle

    def __str__(self) -> str:
        return f"{self.middle:.3f} ({self.low:.3f} to {self.high:.3f})"


def interval(numbers: Sequence[float], confidence: float) -> Interval:
    """The median of independent numbers, and the interval that covers it with at least that probability.

    It lies between two order statistics, as the sign test has it: whatever the distribution, the interval
    misses the median only if fewer than a known count of the numbers lie on one side of it. With fewer than
    six numbers, all of them cover it with less than 95 %.
    """
    ordered, count = sorted(numbers), len(numbers)
    place, beyond = 0, 1 / 2**count  # beyond: the probability that at most `place` numbers are below
    while (beyond := beyond + math.comb(count, place + 1) / 2**count) <= (1 - confidence) / 2:
        place += 1
    return Interval(median(ordered), ordered[place], ordered[count - 1 - place])


def is_gain(ratio: Interval, noise: Interval) -> bool:
    """Whether a ratio is above 1 beyond doubt, and above what the machine makes of the base itself."""
    return ratio.low > max(1.0, noise.high)


@dataclass(frozen=True)
class Timing:
    """What running a candidate came to. `state`: "failed" if it could not be loaded.

    `seconds`: of one call. `ratio`: how many times as fast as the base, base / this. Both None for a
    candidate that was not timed.
    """

    state: End
    error: str = ""
    seconds: Interval | None = None
    ratio: Interval | None = None


@dataclass(frozen=True)
class Measurement:
    """Base and candidates, timed in the same rounds. `seconds`: of a call of the base. `noise`: the ratio of
    the base to a second copy of itself.
    """

    seconds: Interval
    noise: Interval
    candidates: dict[str, Timing]

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


class Bench:
    """Measures candidates against a base, by calls in children: each alone to judge it, all in rounds.

    The children run on the last processor that this process may use.
    `timeout`: seconds that one call of the base may take.
    """

    def __init__(self, base: bytes, kernel: Kernel, *, timeout: float = 10.0) -> None:
        self._base, self._kernel, self._timeout = base, kernel, timeout
        self._processor = max(os.sched_getaffinity(0))
        self._calls, self._call = 1, 0.0  # of a sample; seconds of one

    def check(self, candidates: Mapping[str, bytes]) -> dict[str, Timing]:
        """Run each candidate once beside the base. Raises OptctxError if the base cannot be measured."""
        found = self._run(check_base, self._base, gives=tuple[int, float], seconds=self._timeout)
        if isinstance(found, Timing):
            raise OptctxError(f"the base cannot be measured: {found.error}")
        self._calls, self._call = found
        return {name: self._judge(code) for name, code in candidates.items()}

    def _judge(self, code: bytes) -> Timing:
        """Run a candidate once, and judge what it does."""
        found = self._run(check, self._base, code, gives=str, seconds=self._limit(2))
        if isinstance(found, Timing):
            return found
        return Timing("wrong result", found) if found else Timing("ok")

    def measure(self, candidates: Mapping[str, bytes], confidence: float = 0.95) -> Measurement:
        """Time the candidates that are right, in rounds, at least ten.

        In a round, base and candidates are sampled in turn, in random order. Rounds go on until the intervals
        are narrow or the seconds of the harness are over. Raises OptctxError if the base cannot be run.
        """
        deadline = time.monotonic() + self._kernel.harness.seconds
        found = self.check(candidates)
        right = {name: code for name, code in candidates.items() if found[name].state == "ok"}
        rounds: list[dict[str, float]] = []
        while not _is_enough(rounds, confidence, deadline):
            taken = self._sample(right)
            if not isinstance(taken, Timing):
                rounds.append(taken)
                continue
            alone = {name: self._sample({name: code}) for name, code in right.items()}
            dead = {name: each for name, each in alone.items() if isinstance(each, Timing)}
            if not dead:
                raise EndedEarlyError(f"the base cannot be measured: {taken.error}")
            found |= dead
            right = {name: code for name, code in right.items() if name not in dead}
        ratios, seconds = _intervals(rounds, confidence)
        timed = {name: Timing("ok", "", seconds[name], ratios[name]) for name in right}
        return Measurement(seconds[BASE], ratios[AGAIN], {**found, **timed})

    def confirm(self, candidate: bytes) -> Measurement:
        """Measure a candidate that was `faster` again, at 99 %, in new processes and another order.

        It is "candidate" there. Only its second ratio is to be announced: the first may have been picked
        because it was high.
        """
        return self.measure({"candidate": candidate}, 0.99)

    def _sample(self, candidates: Mapping[str, bytes]) -> dict[str, float] | Timing:
        """Run a round. Return the ratios to the base, and its own figure under ""; or how the round ended."""
        objects = {BASE: self._base, AGAIN: self._base, **candidates}
        calls = 7 * len(objects) * (1 + self._calls)  # as `sample_all` makes them, or fewer
        given = objects, self._calls, self._call
        return self._run(sample_all, *given, gives=dict[str, float], seconds=self._limit(calls))

    def _run(self, function: Any, *arguments: Any, gives: type[R], seconds: float) -> R | Timing:
        given = self._kernel, *arguments
        return run(function, *given, gives=gives, seconds=seconds, processor=self._processor)

    def _limit(self, calls: int) -> float:
        """Seconds that so many calls may take."""
        return self._timeout + _SLOWER * self._call * calls


def _is_enough(rounds: Sequence[Mapping[str, float]], confidence: float, deadline: float) -> bool:
    """Whether the rounds tell what they can: their intervals are narrow, or time is over.

    Where the intervals lie has no say: to look for the moment in which 1 is excluded would find one.
    """
    done = len(rounds)
    if done < _LEAST_ROUNDS:
        return False
    if done >= _MOST_ROUNDS or time.monotonic() >= deadline:
        return True
    return done % _STEP == 0 and all(
        each.width <= _WIDTH for name, each in _intervals(rounds, confidence)[0].items() if name != BASE
    )


def _intervals(
    rounds: Sequence[Mapping[str, float]], confidence: float
) -> tuple[dict[str, Interval], dict[str, Interval]]:
    """Of each object, of its ratio to the base and of the seconds of a call. Those that died are left out."""
    names = [name for name in rounds[-1] if name]
    ratios = {name: interval([each[name] for each in rounds], confidence) for name in names}
    seconds = {name: interval([each[""] / each[name] for each in rounds], confidence) for name in names}
    return ratios, seconds


@dataclass(frozen=True)
class Measuring:
    """How run times are measured."""

    title: ClassVar[str] = "run time"
    harness: str = setting(
        "",
        "what is called and with what, a Python file (FILE_harness.py beside the file)",
        metavar="FILE",
    )

    def wants_time(self, file: str) -> bool:
        """Whether a harness, named or beside the file, says what to call."""
        return bool(self.harness or harness_beside(file))

    def kernel(self, file: str, job: Job) -> Kernel:
        """What is called of a module. Raises OptctxError for what cannot be called or used."""
        path = self.harness or harness_beside(file)
        return find_kernel(job, harness_of(path) if path else Harness(), file)


# In children


def harness_of(file: str) -> Harness:
    """What a harness says, run in a child. Raises OptctxError for one that cannot be used."""
    found = run(read_harness, os.path.abspath(file), gives=Harness, seconds=_SETTLING)
    if isinstance(found, Timing):
        named = "" if found.state == "failed" else f"cannot use the harness {shown(file)}: "
        raise OptctxError(f"{named}{found.error}")
    return found


def run(
    function: Any, *arguments: Any, gives: type[R], seconds: float, processor: int | None = None
) -> R | Timing:
    """Call a function in a child; return its result, or how it ended instead."""
    limits = Limits(seconds=_SETTLING + seconds, processor=processor)
    done = _pool.running().call(function, *arguments, gives=gives, limits=limits)
    if done.death is not None and done.death.end == "lost":
        raise EndedEarlyError(str(done.death))
    if done.death is not None:
        return Timing(done.death.end, str(done.death))
    if done.error:
        printed = " ".join(done.printed.split())[-_LAST:]
        return Timing("failed", f"{done.error}{': ' if printed else ''}{printed}")
    return cast(R, done.value)


def processor_model() -> str:
    """What the processor calls itself."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*: (.*)", file.read(), re.MULTILINE)
    return found[1] if found else platform.machine()

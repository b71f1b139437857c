"""Candidates beside a base, in rounds: as often as it takes to tell which is faster."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TypeVar

from optctx.errors import OptctxError
from optctx.lab.timing.helper import AGAIN, BASE, Rounded
from optctx.lab.timing.processors import Conditions, conditions, processors
from optctx.lab.timing.results import (
    Budget,
    Clock,
    Confirmation,
    Interval,
    Measurement,
    Outcome,
    Timing,
    interval,
    is_gain,
)

R = TypeVar("R", bound="Rounds")

_LEAST_ROUNDS = 10  # fewer say too little about the median
_STEP = 5  # rounds between two looks at the intervals
_LOOK = 500  # resamples of such a look
_GROUP = 8  # candidates that are sampled in turn with one base


class Rounds:
    """Measures candidates against one base. A context manager, for one thread at a time, that can be entered
    again. A subclass runs them: each alone to judge it, then all in a round.
    """

    processor = -1
    """The number of the processor that the candidates run on; -1 for any."""
    _clock: Clock = "cpu"

    def __init__(self) -> None:
        self._outcomes: dict[str, Outcome] = {}
        self._stack = ExitStack()

    def __enter__(self: R) -> R:
        with ExitStack() as stack:
            self._begin(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _begin(self, stack: ExitStack) -> None:
        """Start, run the base, and leave to the stack what ends it. Raises OptctxError if that fails."""
        raise NotImplementedError

    def _examine(self, digest: str, code: bytes) -> Outcome:
        """Run an object once. It has this name from now on."""
        raise NotImplementedError

    def _round(self, names: tuple[str, ...], seed: int) -> Rounded:
        """Take samples of the base, the base again and these, in an order that the seed says."""
        raise NotImplementedError

    def check(self, candidates: Mapping[str, bytes]) -> dict[str, Outcome]:
        """Run each candidate once, and judge what it does beside the base."""
        digests = _digests(candidates)
        for name, digest in digests.items():
            if digest not in self._outcomes:
                self._outcomes[digest] = self._examine(digest, candidates[name])
        return {name: self._outcomes[digest] for name, digest in digests.items()}

    def measure(
        self,
        candidates: Mapping[str, bytes],
        *,
        budget: Budget | None = None,
        seed: int = 0,
        confidence: float = 0.95,
    ) -> Measurement:
        """Time the candidates that are right, in rounds.

        In a round, base and candidates are sampled in turn, in random order. `seed` seeds orders, places of
        code in memory, and the bootstrap.
        Rounds go on until the intervals are narrow or the budget ends. Raises OptctxError if the base dies.
        """
        budget = budget or Budget()
        if not 0 < confidence < 1:
            raise OptctxError(f"a confidence lies between 0 and 1, found {confidence!r}")
        started, processor = time.monotonic(), self.processor
        like = processor if processor >= 0 else processors()[0]
        found = replace(conditions(like), processor=processor)
        self.check(candidates)
        digests = _digests(candidates)
        right = [each for each in dict.fromkeys(digests.values()) if self._outcomes[each].state == "ok"]
        starts = range(0, len(right) or 1, _GROUP)
        sums = [
            _Sums(tuple(right[start : start + _GROUP]), confidence, seed + place)
            for place, start in enumerate(starts)
        ]
        for place, each in enumerate(sums):
            share = (budget.seconds - (time.monotonic() - started)) / (len(sums) - place)
            self._run_rounds(each, budget, share)
        return self._measurement(digests, sums, started, seed, found)

    def confirm(
        self,
        candidate: bytes,
        first: Interval,
        *,
        budget: Budget | None = None,
        seed: int = 1,
        confidence: float = 0.99,
    ) -> Confirmation:
        """Measure one candidate again, outside of the `with` block: it enters one of its own.

        `first` is its ratio in the measurement from which it was picked. The second check shares nothing with
        that one, if `seed` is another: new processes, order and places.
        """
        with self:
            found = self.measure({"candidate": candidate}, budget=budget, seed=seed, confidence=confidence)
        timing = found.candidates["candidate"]
        gain = timing.ratio is not None and first.low > 1 and is_gain(timing.ratio, found.noise)
        return Confirmation(gain, first, timing.ratio, found.noise, found, timing.outcome)

    def _run_rounds(self, sums: _Sums, budget: Budget, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        over = False
        while not (over or sums.narrow):
            seed = hash((sums.seed, sums.rounds))  # of integers: the same in every process
            sums.add(self._round(sums.living, seed))
            if sums.rounds >= _LEAST_ROUNDS:
                over = sums.rounds >= budget.rounds or time.monotonic() >= deadline
                sums.narrow = (over or sums.rounds % _STEP == 0) and sums.is_narrow(budget.width)

    def _measurement(
        self, digests: dict[str, str], sums: list[_Sums], started: float, seed: int, found: Conditions
    ) -> Measurement:
        timings = {name: timing for each in sums for name, timing in each.timings().items()}
        noise = interval([ratio for each in sums for ratio in each.ratios[AGAIN]], sums[0].confidence, seed)
        base = timings[BASE]
        wall = sum(each.wall for each in sums)
        return Measurement(
            base=Timing(Outcome("ok"), base.seconds, noise, sum(each.rounds for each in sums)),
            candidates={
                name: timings.get(digest) or Timing(self._outcomes[digest])
                for name, digest in digests.items()
            },
            noise=noise,
            processor=self.processor,
            clock=self._clock,
            waited=max(0.0, 1 - sum(each.cpu for each in sums) / wall) if wall else 0.0,
            seconds=time.monotonic() - started,
            seed=seed,
            narrow=all(each.narrow for each in sums),
            conditions=found,
        )


@dataclass
class _Sums:
    """What the rounds of a group of candidates gave, by their digests."""

    living: tuple[str, ...]
    confidence: float
    seed: int
    rounds: int = 0
    ratios: dict[str, list[float]] = field(default_factory=dict)  # to the base, one for each round
    seconds: dict[str, list[float]] = field(default_factory=dict)  # of one call
    dead: dict[str, Outcome] = field(default_factory=dict)
    cpu: float = 0.0
    wall: float = 0.0
    narrow: bool = False

    def add(self, found: Rounded) -> None:
        self.rounds += 1
        for name in (BASE, AGAIN):
            if name in found.dead:
                raise OptctxError(
                    f"the base cannot be measured: in round {self.rounds} {found.dead[name].error}"
                )
        for name, outcome in found.dead.items():
            self.dead[name] = Outcome(outcome.state, f"in round {self.rounds} {outcome.error}")
        self.living = tuple(name for name in self.living if name not in self.dead)
        base = found.samples[BASE]
        for name in (BASE, AGAIN, *self.living):
            pairs = zip(base, found.samples[name], strict=True)
            self.ratios.setdefault(name, []).append(median(one / two for one, two in pairs))
            self.seconds.setdefault(name, []).append(median(found.samples[name]))
        self.cpu += found.cpu
        self.wall += found.wall

    def is_narrow(self, width: float) -> bool:
        return all(
            interval(self.ratios[name], self.confidence, self.seed, _LOOK).width <= width
            for name in (AGAIN, *self.living)
        )

    def timings(self) -> dict[str, Timing]:
        found = {name: Timing(outcome) for name, outcome in self.dead.items()}
        for name in (BASE, *self.living):
            seconds = interval(self.seconds[name], self.confidence, self.seed)
            ratio = interval(self.ratios[name], self.confidence, self.seed)
            found[name] = Timing(Outcome("ok"), seconds, ratio, self.rounds)
        return found


def _digests(candidates: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(code).hexdigest() for name, code in candidates.items()}

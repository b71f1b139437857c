"""Check and time candidates against a base, in processes of their own."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from typing import Any, TypeVar

from msgspec.structs import replace

from optctx.children.answers import Talk
from optctx.children.death import Death
from optctx.children.pool import SharedPool
from optctx.errors import EndedEarlyError, OptctxError, shown
from optctx.lab.timing.caller import compile_caller
from optctx.lab.timing.harness import Harness
from optctx.lab.timing.helper import (
    AGAIN,
    BASE,
    Checked,
    Examine,
    Ready,
    Refused,
    Round,
    Rounded,
    Setup,
    prepare,
    serve,
)
from optctx.lab.timing.processors import conditions
from optctx.lab.timing.results import (
    Budget,
    Clock,
    Confirmation,
    Interval,
    Measurement,
    Outcome,
    Timing,
    Tolerance,
    interval,
    is_gain,
)

__all__ = ["Bench", "Stop", "check"]

T = TypeVar("T")
# (name, rounds, median ratio) -> whether to stop
Stop = Callable[[str, int, float], bool]

_LEAST_ROUNDS = 10  # fewer say too little about the median
_STEP = 5  # rounds between two looks at the intervals
_LOOK = 500  # resamples of such a look
_GROUP = 8  # candidates that are sampled in turn with one base
_TURN = 0.02  # seconds of samples of one object in a round
_MOST_SAMPLES = 5  # of one object in a round
_FLOOR = 1.0  # seconds that a call or a sample may always take
_GRACE = 10.0  # seconds that the helper has to end
_SLOWER = 20  # times as long as the base that a candidate may take

_pool = SharedPool(prepare)


class Bench:
    """A helper process that runs candidates against one base on one processor. A context manager, for one
    thread at a time. It can be entered again, with a new helper.

    Entering takes the processor's lock and runs the base twice. It raises OptctxError if the base crashes,
    takes longer than `timeout` seconds, or gives two different outputs; and EndedEarlyError if the processor
    stays taken for `patience` seconds. `processor`: None takes any that is free. `clock`: "cpu" counts the
    time that the processor works for the kernel, "wall" the time that goes by. Nothing that a candidate does
    reaches this process or the measurement of another candidate. `lock`: whether to take a processor at all;
    without one there is nothing to be measured, and candidates are checked only.
    """

    def __init__(
        self,
        harness: Harness,
        base: bytes,
        *,
        processor: int | None = None,
        tolerance: Tolerance | None = None,
        clock: Clock = "cpu",
        patience: float = 600.0,
        timeout: float = 10.0,
        lock: bool = True,
    ) -> None:
        if clock not in ("cpu", "wall"):
            raise OptctxError(f"a clock is 'cpu' or 'wall', found {shown(clock)}")
        for name, seconds in (("patience", patience), ("timeout", timeout)):
            if not (isinstance(seconds, int | float) and 0 <= seconds < float("inf")):
                raise OptctxError(f"{name} is a number of seconds, found {shown(seconds)}")
        self._setup = Setup(
            harness,
            bytes(base),
            tolerance or Tolerance(),
            clock,
            processor,
            lock,
            float(patience),
            float(timeout),
        )
        self._helper: Talk[Any] | None = None
        self._ready = Ready()
        self._outcomes: dict[str, Outcome] = {}

    def __enter__(self) -> Bench:
        if self._helper is not None:
            raise OptctxError("this Bench is in use; leave its `with` block first")
        self._outcomes = {}
        if not self._setup.caller:
            self._setup = replace(self._setup, caller=compile_caller(self._setup.harness))
        says: Any = Ready | Refused | Checked | Rounded
        try:
            self._helper = _pool.running().talk(serve, self._setup, gives=says)
            self._ready = self._hear(Ready)
        except BaseException:
            self.__exit__()
            raise
        self._conditions = conditions(self._ready.processor)
        return self

    def __exit__(self, *error: object) -> None:
        helper, self._helper = self._helper, None
        if helper is None:
            return
        with helper:
            pass  # the end of its block kills it
        with suppress(TimeoutError):
            _wait_for_end(helper)

    @property
    def processor(self) -> int:
        """The number of the processor that the kernels run on."""
        return self._ready.processor

    def check(self, candidates: Mapping[str, bytes]) -> dict[str, Outcome]:
        """Call each candidate once on the seeded inputs, and compare what it leaves with the base's."""
        digests = _digests(candidates)
        for name, digest in digests.items():
            if digest not in self._outcomes:
                limit = self._limit(1)
                checked = self._ask(Examine(digest, candidates[name], limit), Checked)
                self._outcomes[digest] = checked.outcome
        return {name: self._outcomes[digest] for name, digest in digests.items()}

    def measure(
        self,
        candidates: Mapping[str, bytes],
        *,
        budget: Budget | None = None,
        seed: int = 0,
        confidence: float = 0.95,
        stop: Stop | None = None,
    ) -> Measurement:
        """Time the candidates that are right, in rounds.

        In a round, base and candidates each have a new process on the processor, with the code at a random
        place. They are sampled in turn, in random order. `seed` seeds orders, places and the bootstrap.
        Rounds go on until the intervals are narrow or the budget ends. `stop` is asked about each candidate
        every five rounds: its name, the rounds so far, and its median ratio; True measures it no further.
        Raises OptctxError if the base dies.
        """
        budget = budget or Budget()
        if not 0 < confidence < 1:
            raise OptctxError(f"a confidence lies between 0 and 1, found {confidence!r}")
        started = time.monotonic()
        self.check(candidates)
        digests = _digests(candidates)
        right = [each for each in dict.fromkeys(digests.values()) if self._outcomes[each].state == "ok"]
        groups = [right[start : start + _GROUP] for start in range(0, len(right), _GROUP)] or [[]]
        sums = [_Sums(tuple(group), confidence, seed + place) for place, group in enumerate(groups)]
        names = {digest: name for name, digest in reversed(digests.items())}
        for place, each in enumerate(sums):
            share = (budget.seconds - (time.monotonic() - started)) / (len(sums) - place)
            self._run_rounds(each, budget, share, _by_digest(stop, names))
        return self._measurement(digests, sums, started, seed)

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

    def _run_rounds(self, sums: _Sums, budget: Budget, seconds: float, stop: Stop | None) -> None:
        deadline = time.monotonic() + seconds
        samples = max(1, min(_MOST_SAMPLES, int(_TURN / self._ready.sample)))
        limit = self._limit(self._ready.calls)
        while True:
            seed = hash((sums.seed, sums.rounds))  # of integers: the same in every process
            order = Round(sums.living, seed, self._ready.calls, samples, limit)
            sums.add(self._ask(order, Rounded))
            if stop is not None and sums.rounds % _STEP == 0:
                sums.drop(stop)
            if sums.rounds < _LEAST_ROUNDS:
                continue
            if (
                sums.rounds >= budget.rounds
                or (sums.stopped and not sums.living)
                or time.monotonic() >= deadline
            ):
                sums.narrow = sums.is_narrow(budget.width)
                return
            if sums.rounds % _STEP == 0 and sums.is_narrow(budget.width):
                sums.narrow = True
                return

    def _measurement(
        self, digests: dict[str, str], sums: list[_Sums], started: float, seed: int
    ) -> Measurement:
        timings = {name: timing for each in sums for name, timing in each.timings(self._ready.calls).items()}
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
            clock=self._setup.clock,
            waited=max(0.0, 1 - sum(each.cpu for each in sums) / wall) if wall else 0.0,
            seconds=time.monotonic() - started,
            seed=seed,
            narrow=all(each.narrow for each in sums),
            conditions=self._conditions,
        )

    def _limit(self, calls: int) -> float:
        """Seconds that so many calls of a candidate may take."""
        call = self._ready.sample / self._ready.calls
        return max(_FLOOR, _SLOWER * call * calls)

    def _ask(self, message: object, expected: type[T]) -> T:
        if self._helper is None:
            raise OptctxError("this Bench is not running; use it inside its `with` block")
        self._helper.line.tell(message)
        return self._hear(expected)

    def _hear(self, expected: type[T]) -> T:
        assert self._helper is not None
        answer = self._helper.hear()
        if isinstance(answer, Refused):
            raise (EndedEarlyError if answer.early else OptctxError)(answer.error)
        if isinstance(answer, expected):
            return answer
        end = Death("nonsense", 0, "") if not isinstance(answer, Death) else answer
        raise EndedEarlyError(f"the helper process of the measurement ended: {end}")


@dataclass
class _Sums:
    """What the rounds of a group of candidates gave, by their digests."""

    living: tuple[str, ...]
    confidence: float
    seed: int
    rounds: int = 0
    ratios: dict[str, list[float]] = field(default_factory=dict)  # to the base, one for each round
    seconds: dict[str, list[float]] = field(default_factory=dict)  # of one sample
    dead: dict[str, Outcome] = field(default_factory=dict)
    stopped: dict[str, int] = field(default_factory=dict)  # after so many rounds
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

    def drop(self, stop: Stop) -> None:
        """Measure no further what is to be stopped."""
        for name in self.living:
            if stop(name, self.rounds, median(self.ratios[name])):
                self.stopped[name] = self.rounds
        self.living = tuple(name for name in self.living if name not in self.stopped)

    def is_narrow(self, width: float) -> bool:
        return all(
            interval(self.ratios[name], self.confidence, self.seed, _LOOK).width <= width
            for name in (AGAIN, *self.living)
        )

    def timings(self, calls: int) -> dict[str, Timing]:
        found = {name: Timing(outcome) for name, outcome in self.dead.items()}
        for name in (BASE, *self.living, *self.stopped):
            seconds = interval([each / calls for each in self.seconds[name]], self.confidence, self.seed)
            ratio = interval(self.ratios[name], self.confidence, self.seed)
            rounds = self.stopped.get(name, self.rounds)
            found[name] = Timing(Outcome("ok"), seconds, ratio, rounds, name in self.stopped)
        return found


def check(
    harness: Harness,
    base: bytes,
    candidates: Mapping[str, bytes],
    *,
    tolerance: Tolerance | None = None,
    timeout: float = 10.0,
) -> dict[str, Outcome]:
    """Call each candidate once and compare it with the base, without timing and without a processor's lock.

    Raises OptctxError if the base cannot be run. See `Bench`.
    """
    with Bench(harness, base, tolerance=tolerance, timeout=timeout, lock=False) as bench:
        return bench.check(candidates)


def _wait_for_end(helper: Talk[Any]) -> None:
    while not isinstance(helper.hear(_GRACE), Death):
        pass


def _by_digest(stop: Stop | None, names: Mapping[str, str]) -> Stop | None:
    """The same, asked about objects by their digests."""
    if stop is None:
        return None
    return lambda digest, rounds, ratio: stop(names[digest], rounds, ratio)


def _digests(candidates: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(code).hexdigest() for name, code in candidates.items()}

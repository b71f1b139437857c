"""Intervals cover the median as often as they say, and equal programs are not called faster."""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import median

from optctx.lab.timing.bench import interval, is_gain
from tests.support.rows import rows

TRIALS = 200


def covered(count: int, confidence: float, draw: Callable[[random.Random], float]) -> int:
    """Of the trials, in how many the interval holds the median, which is 1."""
    source = random.Random(count)
    found = 0
    for _ in range(TRIALS):
        numbers = [draw(source) for _ in range(count)]
        each = interval(numbers, confidence)
        found += each.low <= 1 <= each.high
    return found


@rows(("count", "confidence"), [(10, 0.9), (15, 0.95), (30, 0.95)])
def test_intervals_cover_the_median_as_often_as_they_say(count: int, confidence: float) -> None:
    slack = 2.5 * (TRIALS * confidence * (1 - confidence)) ** 0.5
    for draw in (
        lambda source: source.gauss(1, 0.05),
        lambda source: 2 ** source.expovariate(1) / 2**0.693147,
    ):
        assert covered(count, confidence, draw) >= TRIALS * confidence - slack


def synthetic(source: random.Random, speed: float) -> list[float]:
    """Ratios of a round on a busy machine, of the base's copy and of a program: speed drifts from round to
    round, every fifth sample takes much longer.
    """
    drift = source.lognormvariate(0, 0.3)

    def sample(factor: float) -> float:
        burst = source.uniform(1, 4) if source.random() < 0.2 else 1.0
        return drift * source.gauss(1, 0.02) * burst / factor

    base = [sample(1) for _ in range(5)]
    return [median(each / sample(factor) for each in base) for factor in (1, speed)]


def announced(seed: int, speed: float) -> tuple[bool, float]:
    """Whether a first and a second check both find a gain; and the second's ratio."""
    gains = []
    for check, confidence in ((0, 0.95), (1, 0.99)):
        source = random.Random(2 * seed + check)
        again, ratios = zip(*(synthetic(source, speed) for _ in range(15)), strict=True)
        ratio = interval(ratios, confidence)
        gains.append(is_gain(ratio, interval(again, confidence)))
    return all(gains), ratio.middle


def test_a_gain_is_announced_for_a_faster_program_alone_on_a_busy_machine() -> None:
    assert not any(announced(seed, 1.0)[0] for seed in range(40))
    found = [announced(seed, 1.5) for seed in range(10)]
    assert sum(gain for gain, _ in found) >= 9
    assert all(abs(ratio - 1.5) < 0.15 for _, ratio in found)

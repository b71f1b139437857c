"""Kernels timed by rounds: what is announced holds on a machine that is busy with other things."""

from __future__ import annotations

import os
import pathlib
import random
from collections.abc import Callable
from statistics import median

import pytest

from optctx.errors import OptctxError
from optctx.lab.timing import Bench, Timing
from optctx.lab.timing.bench import interval, is_gain
from tests.support.rows import rows
from tests.support.timing_kernels import AT_ONCE, SUM, compiled, loop, sum_kernel

# Each step waits for the one before. What it gives is not compared.
STEPS = loop("%mixed = mul i32 %s, 16777619\n  %v = xor i32 %mixed, %e", "%m = sub i64 %n, LESS")
STEPS = STEPS.replace("%next, %n", "%next, %m").replace(
    "ret i32 %sum", 'call void asm sideeffect "", "r"(i32 %sum)\n  ret i32 0'
)


def fewer(less: int, more: str = "") -> bytes:
    """The object of a kernel that takes so many of its 1,024 steps less."""
    return compiled(STEPS.replace("LESS", str(less)) + more)


@pytest.mark.long
def test_a_planted_gain_of_three_percent_is_announced_and_none_between_equal_objects(
    tmp_path: pathlib.Path,
) -> None:
    """Both checks, as `optctx time` makes them."""
    bench = Bench(fewer(0), sum_kernel(tmp_path, 1024))
    for _ in range(10):
        found = bench.measure({"faster": fewer(32)})
        assert found.faster() == ["faster"], found
        second = bench.confirm(fewer(32))
        assert second.faster(), second
    equal = fewer(0, "@never = global i32 1")
    for _ in range(20):
        found = bench.measure({"equal": equal})
        if found.faster():
            assert not bench.confirm(equal).faster()


@pytest.mark.long
def test_an_object_with_twice_the_work_takes_twice_as_long(tmp_path: pathlib.Path) -> None:
    kernel = sum_kernel(tmp_path, 1024, "seconds = 1")
    found = Bench(fewer(0), kernel).measure({"half": fewer(512)})
    timing = found.candidates["half"]
    assert timing.ratio is not None
    assert timing.seconds is not None
    assert 1.6 < timing.ratio.middle < 2.4
    assert 0 < timing.seconds.middle < found.seconds.middle < 1e-3
    back = Bench(fewer(512), kernel).confirm(fewer(0))
    assert not back.faster()


@pytest.mark.usefixtures("few_rounds")
def test_many_candidates_are_timed_together_and_wrong_ones_never(
    tmp_path: pathlib.Path,
) -> None:
    objects = {f"unrolled {count}": compiled(SUM, f"-unroll-count={count}") for count in range(1, 10)}
    wrong = objects["wrong"] = compiled("define i32 @total(ptr %a, i64 %n) { ret i32 0 }")
    bench = Bench(compiled(SUM), sum_kernel(tmp_path, 64, f"repeat = 1\n{AT_ONCE}"))
    found = bench.measure(objects)
    assert list(found.candidates) == list(objects)
    assert {name for name, timing in found.candidates.items() if timing.state != "ok"} == {"wrong"}
    assert found.candidates["wrong"].ratio is None
    assert "wrong" not in found.faster()
    second = bench.confirm(wrong)
    assert second.faster() == []
    assert second.candidates["candidate"].error.startswith("the returned value is 0")


@pytest.mark.usefixtures("few_rounds")
def test_arrays_are_restored_before_each_sample(tmp_path: pathlib.Path) -> None:
    """The kernel divides by zero where it finds what it has left."""
    spoils = loop(
        "%v = add i32 %e, 0",
        "%old = load volatile i32, ptr %a\n  %less = sub i32 %old, 12345\n  %ratio = sdiv i32 7, %less\n"
        "  store volatile i32 %ratio, ptr %a\n  store volatile i32 12345, ptr %a",
    )
    found = Bench(compiled(spoils), sum_kernel(tmp_path, 64, f"repeat = 1\n{AT_ONCE}")).measure({})
    assert found.seconds.middle > 0
    with pytest.raises(OptctxError, match="the base cannot be measured: killed by SIGFPE"):
        Bench(compiled(spoils), sum_kernel(tmp_path, 64, AT_ONCE)).measure({})


def test_the_kernel_runs_on_the_last_processor(tmp_path: pathlib.Path) -> None:
    ir = loop("%v = add i32 %e, 0", "%cpu = call i32 @sched_getcpu()", "declare i32 @sched_getcpu()")
    ir = ir.replace("%s = phi i32 [ 0, %entry ]", "%s = phi i32 [ %cpu, %entry ]")
    last = max(os.sched_getaffinity(0))
    told = ir.replace("%cpu = call i32 @sched_getcpu()", f"%cpu = add i32 {last}, 0")
    bench = Bench(compiled(told), sum_kernel(tmp_path))
    assert bench.check({"tells": compiled(ir)})["tells"] == Timing("ok")


# Intervals and gains, of made-up rounds

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

"""Kernels timed by real rounds: what is announced holds on a machine that is busy with other things."""

from __future__ import annotations

import json
import os
import pickle
import re
import sys
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

import pytest
from msgspec.structs import replace

from optctx.errors import OptctxError
from optctx.lab.timing import (
    Bench,
    Budget,
    Clock,
    Harness,
    Measurement,
    Outcome,
    ProcessorLock,
    processors,
)
from tests.support.processes import in_child, run_and_end
from tests.support.timing_kernels import HASH, SUM, compiled, hash_harness, loop, pid_of, sum_harness

# Ten rounds, however long they take.
SHORT = Budget(seconds=0, width=1.0)
# The hash depends on itself: each step waits for the one before. Here all bytes are read twice.
# What comes out is not compared.
TWICE = HASH.replace(
    "%p = getelementptr i8, ptr %bytes, i64 %i",
    "%j = and i64 %i, 511\n  %p = getelementptr i8, ptr %bytes, i64 %j",
)
TWICE = TWICE.replace("entry:\n", "entry:\n  %twice = shl i64 %n, 1\n").replace("%next, %n", "%next, %twice")


def measure(base: bytes, harness: Harness, **bench: Any) -> Measurement:
    """The base alone."""
    with Bench(harness, base, **bench) as entered:
        return entered.measure({}, budget=SHORT)


@pytest.mark.long
def test_an_object_with_twice_the_work_takes_twice_as_long() -> None:
    once, twice = compiled(HASH), compiled(TWICE)
    harness = replace(hash_harness(), returns=None)
    bench = Bench(harness, twice)
    with bench:
        found = bench.measure({"once": once}, budget=SHORT, confidence=0.99)
    timing = found.candidates["once"]
    assert timing.outcome == Outcome("ok")
    assert timing.ratio is not None
    assert 1.6 < timing.ratio.middle < 2.4
    assert timing.ratio.low < 2.1
    assert timing.ratio.high > 1.9
    assert found.faster() == ["once"]
    assert found.base.seconds is not None
    assert timing.seconds is not None
    assert 0 < timing.seconds.middle < found.base.seconds.middle < 1e-3
    assert 0 <= found.waited < 1
    second = bench.confirm(once, timing.ratio, budget=SHORT)
    assert second.gain
    assert re.fullmatch(r"[12]\.\d\d times as fast \([\d.]+ to [\d.]+\), confirmed", str(second))
    back = Bench(harness, once).confirm(twice, timing.ratio, budget=SHORT)
    assert not back.gain
    assert str(back).startswith("no gain: 0.")


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 25), marks=pytest.mark.long)])
def test_no_gain_is_announced_for_equal_code(seeds: range) -> None:
    """The objects differ in a variable that no code reads."""
    base, other = compiled(SUM), compiled(SUM + "@never = global i32 1")
    assert base != other
    bench = Bench(sum_harness(256, repeat=20), base)
    with bench:
        found = {seed: bench.measure({"other": other}, budget=SHORT, seed=seed) for seed in seeds}
    for seed, each in found.items():
        ratio = each.candidates["other"].ratio
        assert ratio is not None
        if each.faster():
            assert not bench.confirm(other, ratio, budget=SHORT, seed=seed + 1000).gain


def test_many_candidates_are_timed_in_groups_equal_ones_once_and_wrong_ones_never() -> None:
    objects = {f"unrolled {count}": compiled(SUM, f"-unroll-count={count}") for count in range(1, 10)}
    objects["again"] = objects["unrolled 2"]
    wrong = objects["wrong"] = compiled("define i32 @total(ptr %a, i64 %n) { ret i32 0 }")
    bench = Bench(sum_harness(64, repeat=1), compiled(SUM))
    with bench:
        found = bench.measure(objects, budget=SHORT, seed=3)
    assert list(found.candidates) == list(objects)
    assert {name for name, timing in found.candidates.items() if timing.outcome != Outcome("ok")} == {"wrong"}
    assert (found.candidates["wrong"].ratio, found.candidates["wrong"].rounds) == (None, 0)
    assert "wrong" not in found.faster()
    assert found.candidates["again"] == found.candidates["unrolled 2"]
    assert found.base.rounds == 20
    assert found.narrow
    assert pickle.loads(pickle.dumps(found)) == found
    ratio = found.candidates["again"].ratio
    assert ratio is not None
    assert json.loads(json.dumps(asdict(found)))["candidates"]["again"]["ratio"]["low"] == ratio.low
    second = bench.confirm(wrong, ratio, budget=SHORT)
    assert (second.gain, second.second) == (False, None)
    assert str(second).startswith("no gain: the returned value is 0")


def test_without_candidates_the_noise_of_the_machine_is_measured_until_the_budget_ends() -> None:
    # Long calls never take equally many ticks of the clock; of short ones the interval may have no width.
    with Bench(sum_harness(100_000, repeat=1), compiled(SUM)) as bench:
        found = bench.measure({}, budget=Budget(seconds=1e9, rounds=12, width=0.0))
        assert (found.base.rounds, found.narrow) == (12, False)
        assert (found.candidates, found.faster(), found.base.ratio) == ({}, [], found.noise)
        assert bench.measure({}, budget=Budget(seconds=0, width=0.0)).base.rounds == 10
        with pytest.raises(OptctxError, match="a confidence lies between 0 and 1"):
            bench.measure({}, confidence=1.5)


def test_arrays_are_restored_before_each_sample() -> None:
    """The kernel divides by zero where it finds what it has left."""
    spoils = loop(
        "%v = add i32 %e, 0",
        "%old = load volatile i32, ptr %a\n  %less = sub i32 %old, 12345\n  %ratio = sdiv i32 7, %less\n"
        "  store volatile i32 %ratio, ptr %a\n  store volatile i32 12345, ptr %a",
    )
    assert measure(compiled(spoils), sum_harness(64, repeat=1)).base.rounds == 10


def test_a_kernel_that_waits_takes_time_by_one_clock_only() -> None:
    waiting = loop("%v = add i32 %e, 0", "%r = call i32 @usleep(i32 500)", "declare i32 @usleep(i32)")
    clocks: tuple[Clock, ...] = ("cpu", "wall")
    for clock in clocks:
        found = measure(compiled(waiting), sum_harness(64, repeat=1), clock=clock)
        assert found.base.seconds is not None
        assert (found.base.seconds.middle > 0.0005) == (clock == "wall")
        assert found.waited > 0.5


def test_mistakes_are_one_clear_error() -> None:
    missing = max(processors()) + 1
    for keywords, words in (
        ({"processor": missing}, f"cannot measure on processor {missing}: this process may use 0"),
        ({"clock": "sun"}, "a clock is 'cpu' or 'wall', found 'sun'"),
        ({"patience": -1}, "patience is a number of seconds, found -1"),
    ):
        with pytest.raises(OptctxError, match=re.escape(words)):
            measure(compiled(SUM), sum_harness(), **keywords)


def test_the_kernel_runs_on_the_processor_that_was_asked_for_and_locked() -> None:
    """Neither a fork of the measuring process nor a second entry changes anything."""
    ir = loop("%v = add i32 %e, 0", "%cpu = call i32 @sched_getcpu()", "declare i32 @sched_getcpu()")
    ir = ir.replace("%s = phi i32 [ 0, %entry ]", "%s = phi i32 [ %cpu, %entry ]")
    for number in processors()[:2]:
        zero = ir.replace("%cpu = call i32 @sched_getcpu()", f"%cpu = add i32 {number}, 0")
        with Bench(sum_harness(), compiled(zero), processor=number) as bench:
            assert bench.processor == number
            taken = f"processor {number} is taken by process {pid_of(bench)} for"
            with pytest.raises(OptctxError, match=taken):
                measure(compiled(SUM), sum_harness(), processor=number, patience=0.0)
            with pytest.raises(OptctxError, match="this Bench is in use"), bench:
                pass
            in_child(int)
            assert bench.check({"tells": compiled(ir)})["tells"] == Outcome("ok")


def test_a_lock_ends_with_its_process_and_does_not_survive_in_a_fork() -> None:
    number = processors()[0]

    def find_it_taken() -> None:
        with pytest.raises(OptctxError, match="is taken"), ProcessorLock(number, patience=0.0):
            pass

    with ProcessorLock(number):
        in_child(find_it_taken)  # the child does not have it, nor can it
    reading, writing = os.pipe()

    def hold_and_die() -> None:
        ProcessorLock(number).__enter__()
        if not os.fork():  # outlives the holder
            os.read(reading, 1)
            os._exit(0)
        os.kill(os.getpid(), 9)

    holder = os.fork()
    if not holder:
        run_and_end(hold_and_die)
    os.waitpid(holder, 0)
    with ProcessorLock(number):  # the sleeper lets go when it first runs
        pass
    os.write(writing, b"x")
    os.close(reading)
    os.close(writing)


def test_any_free_processor_is_taken_until_none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under names of the test's own: two that hold one processor each and wait for the other's never end."""
    name = f"\0optctx-test-{os.getpid()}-"
    module = sys.modules[ProcessorLock.__module__]
    monkeypatch.setattr(module, "_address", lambda number: f"{name}{number}")
    numbers = processors()
    with ExitStack() as stack:
        taken = [stack.enter_context(ProcessorLock()).number for _ in numbers]
        assert sorted(taken) == sorted(numbers)
        with pytest.raises(OptctxError, match="every processor is taken"):
            ProcessorLock(patience=0.05).__enter__()
    with ProcessorLock(numbers[0]):
        pass

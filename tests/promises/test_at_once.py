"""Everything at once, on many threads: in parallel where Python has no GIL, in turns of the GIL elsewhere."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from llvmlite import binding

from optctx import (
    OptionContext,
    attach,
    bound,
    current,
    drift,
    info,
    lookup,
    record,
    registry,
    run_passes,
    unbind,
    watch,
)
from optctx.compiling import FreshProcess, Job, Result, compile_job
from tests.support.alone import alone
from tests.support.installed import FREE_THREADED
from tests.support.ir_texts import CALLS, COUNTED, SCALE, UNROLL, X86
from tests.support.scopes import in_threads, scoped, unrolled

pytestmark = pytest.mark.usefixtures("outside")

COUNTS = (2, 3, 4, 5)
# What the threads below may set, and to what.
CHOICES = {
    "unroll-count": (2, 3, 8),
    "force-vector-width": (1, 2, 4, 8),
    "vectorize-loops": ("true", "false"),
    "inline-threshold": (0, 20, 1000),
    "prefer-predicate-over-epilogue": ("scalar-epilogue", "predicate-dont-vectorize"),
    "force-attribute": ("scale:cold", "callee:noinline", "caller:minsize"),
    "x86-asm-syntax": ("att", "intel"),
}
# For targets whose lowering writes no option.
PLAIN = (
    Job(SCALE, triple=X86, cpu="skylake-avx512", emit="assembly"),
    Job(SCALE, triple="aarch64-unknown-linux-gnu", emit="assembly"),
    Job(CALLS, "forceattrs,default<O2>", triple=X86, emit="assembly"),
)


def random_job(job: Job, dice: random.Random) -> Job:
    chosen = dice.sample(sorted(CHOICES), dice.randint(1, 5))
    return replace(job, options=tuple(f"-{name}={dice.choice(CHOICES[name])}" for name in chosen))


JOBS = [*PLAIN, *(random_job(job, random.Random(number)) for number in range(6) for job in PLAIN)]
ON_TWO = Job(COUNTED, triple=X86, options=("-unroll-count=2",))


@alone
def begin_at_once(wanted: Result) -> None:
    def begin_and_compile(first: Callable[[], object]) -> None:
        first()
        results.append(scoped(ON_TWO))
        assert unrolled() == 1

    firsts: list[Callable[[], object]] = [
        attach,
        current,
        drift,
        info,
        lambda: lookup("unroll-count"),
        lambda: len(registry()),
        lambda: OptionContext({"unroll-count": 4}).run(unrolled),
        lambda: OptionContext(base="defaults"),
    ]
    results: list[Result] = []
    in_threads([partial(begin_and_compile, first) for first in firsts])
    assert results == [wanted] * len(firsts)


def test_the_first_use_may_be_on_many_threads_at_once(fresh: FreshProcess) -> None:
    """They begin in different ways; each finds everything in place."""
    begin_at_once(wanted=fresh.compile(ON_TWO))


def bind_and_unbind(dice: random.Random) -> None:
    count = dice.choice(COUNTS)
    context = OptionContext({"unroll-count": count}, base="defaults")
    with binding.create_context() as own:
        context.bind(own)
        assert bound(own) is context
        assert lookup("unroll-count", llvm_context=own) == count
        with binding.parse_assembly(COUNTED, own) as module:
            run_passes(module, UNROLL)
            assert str(module).count("store volatile") == count
        if dice.random() < 0.5:  # else it ends with the LLVMContext
            unbind(own)
            assert bound(own) is None


def record_reads(dice: random.Random) -> None:
    count = dice.choice(COUNTS)
    with record() as log, OptionContext({"unroll-count": count}, base="defaults", unread="error"):
        assert unrolled() == count
    assert log.reads["unroll-count"].values == (count,)


def look_around(_: random.Random) -> None:
    events: list[object] = []
    with watch(events.append):
        assert not drift()
        assert info()["error"] is None
        assert OptionContext()["unroll-count"] == 0
    assert events == []


@pytest.mark.parametrize("rounds", [12, pytest.param(200, marks=pytest.mark.long)])
def test_everything_at_once_gives_what_fresh_processes_give(fresh: FreshProcess, rounds: int) -> None:
    expected = {job: fresh.compile(job) for job in JOBS}
    assert all(result.error is None for result in expected.values())
    assert len(set(expected.values())) > len(JOBS) // 2, "the options do something"
    shared = {job: OptionContext.from_args(job.options, base="defaults") for job in JOBS}

    def compile_in_new_contexts(dice: random.Random) -> None:
        job = dice.choice(JOBS)
        assert scoped(job) == expected[job], job.options

    def share_contexts(dice: random.Random) -> None:
        job = dice.choice(JOBS)
        context = shared[job]
        assert hash(context.derive({"unroll-count": 3})) == hash(context.derive({"unroll-count": 3}))
        with context, context:
            assert current() is context
            assert compile_job(job) == expected[job], job.options

    works = [
        *(compile_in_new_contexts, compile_in_new_contexts, share_contexts, share_contexts),
        *(bind_and_unbind, record_reads, look_around),
    ]

    def repeat(number: int, work: Callable[[random.Random], None]) -> None:
        dice = random.Random(number)
        for _ in range(rounds):
            work(dice)
            assert current() == OptionContext(base="defaults")

    in_threads([partial(repeat, number, work) for number, work in enumerate(works)])
    assert not drift()
    assert {job: scoped(job) for job in JOBS} == expected, "nothing is left"
    assert not (FREE_THREADED and sys._is_gil_enabled())  # type: ignore[attr-defined]

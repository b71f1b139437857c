"""Everything at once, on many threads: in parallel where Python has no GIL, in turns of the GIL elsewhere."""

from __future__ import annotations

import contextvars
import pathlib
import pickle
import random
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from llvmlite import binding

from optctx import (
    CompileCache,
    OptionContext,
    ScopeError,
    attach,
    bound,
    current,
    detach,
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
from tests.support.processes import SECONDS, run_python
from tests.support.scopes import in_threads, scoped, unrolled

pytestmark = pytest.mark.usefixtures("outside")

DETACHED = 10  # times
# What the threads below may set, and to what.
CHOICES = {
    "unroll-count": (2, 3, 8),
    "unroll-runtime": ("true", "false"),
    "force-vector-width": (1, 2, 4, 8),
    "force-vector-interleave": (1, 2, 4),
    "vectorize-loops": ("true", "false"),
    "inline-threshold": (0, 20, 1000),
    "inline-max-stacksize": (8, 1 << 20),
    "prefer-predicate-over-epilogue": ("scalar-epilogue", "predicate-dont-vectorize"),
    "force-attribute": ("scale:cold", "callee:noinline", "caller:minsize"),
    "x86-asm-syntax": ("att", "intel"),
    "enable-tail-merge": ("true", "false"),
    "fast-isel": ("true", "false"),
}
# For targets whose lowering writes no option.
PLAIN = (
    Job(SCALE, triple=X86),
    Job(SCALE, triple=X86, cpu="skylake-avx512", emit="assembly"),
    Job(SCALE, triple="aarch64-unknown-linux-gnu", emit="assembly"),
    Job(CALLS, "forceattrs,default<O2>", triple=X86, emit="assembly"),
    Job(CALLS, triple="s390x-unknown-linux-gnu", emit="assembly"),
)
Work = Callable[[random.Random], None]


def random_job(job: Job, dice: random.Random) -> Job:
    chosen = dice.sample(sorted(CHOICES), dice.randint(1, 5))
    return replace(job, options=tuple(f"-{name}={dice.choice(CHOICES[name])}" for name in chosen))


JOBS = [*PLAIN, *(random_job(job, random.Random(number)) for number in range(6) for job in PLAIN)]


@pytest.fixture(scope="module")
def expected(fresh: FreshProcess) -> dict[Job, Result]:
    found = {job: fresh.compile(job) for job in JOBS}
    assert all(result.error is None for result in found.values())
    assert len(set(found.values())) > len(JOBS) // 2, "the options do something"
    return found


def test_threads_with_random_options_get_what_a_fresh_process_gives(expected: dict[Job, Result]) -> None:
    def work(number: int) -> None:
        for job in random.Random(number).sample(JOBS, len(JOBS) // 3):
            assert scoped(job) == expected[job], job.options

    in_threads([partial(work, number) for number in range(4)])
    assert {job: compile_job(job) for job in PLAIN} == {job: expected[job] for job in PLAIN}, (
        "nothing is left"
    )


@pytest.mark.skipif(not FREE_THREADED, reason="needs a free-threaded Python: `make test-long`")
def test_optctx_runs_without_the_gil() -> None:
    run_python("""
        import sys, tempfile
        import optctx
        assert not sys._is_gil_enabled()
        optctx.attach()
        cache = optctx.CompileCache(tempfile.mkdtemp())
        with optctx.watch(print), optctx.OptionContext(unroll_count=2):
            cache.compile("define void @f() { ret void }")
        assert not sys._is_gil_enabled()
    """)


ON_TWO = Job(COUNTED, triple=X86, options=("-unroll-count=2",))


@alone
def begin_at_once(number: int, wanted: Result) -> None:
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
    random.Random(number).shuffle(firsts)
    results: list[Result] = []
    in_threads([partial(begin_and_compile, first) for first in firsts])
    assert results == [wanted] * len(firsts)


def test_the_first_use_may_be_on_many_threads_at_once(fresh: FreshProcess) -> None:
    """They begin in different ways; each finds everything in place."""
    for number in range(2):
        begin_at_once(number=number, wanted=fresh.compile(ON_TWO))


def compile_in_new_contexts(expected: dict[Job, Result]) -> Work:
    def work(dice: random.Random) -> None:
        job = dice.choice(JOBS)
        assert scoped(job) == expected[job]

    return work


def share_contexts(expected: dict[Job, Result]) -> Work:
    shared = {job: OptionContext.from_args(job.options, base="defaults") for job in JOBS}

    def work(dice: random.Random) -> None:
        job = dice.choice(JOBS)
        context = shared[job]
        assert pickle.loads(pickle.dumps(context)) == context
        assert hash(context.derive({"unroll-count": 3})) == hash(context.derive({"unroll-count": 3}))
        with context, context:
            assert current() is context
            assert compile_job(job) == expected[job]

    return work


def bind_and_unbind(dice: random.Random) -> None:
    count = dice.choice((2, 3, 4, 5))
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
    count = dice.choice((2, 3, 4, 5))
    with record() as log, OptionContext({"unroll-count": count}, base="defaults", unread="error"):
        assert unrolled() == count
    assert log.reads["unroll-count"].values == (count,)


def carry_to_a_thread(dice: random.Random) -> None:
    count = dice.choice((2, 3, 4, 5))
    seen: list[int] = []
    with OptionContext({"unroll-count": count}, base="defaults"):
        copy = contextvars.copy_context()
    in_threads([lambda: copy.run(lambda: seen.append(unrolled()))])
    assert seen == [count]


def look_around(dice: random.Random) -> None:
    events: list[object] = []
    with watch(events.append):
        assert not drift()
        assert info()["error"] is None
        assert OptionContext()["unroll-count"] == 0
    assert events == []


@pytest.mark.parametrize("rounds", [12, pytest.param(200, marks=pytest.mark.long)])
def test_everything_at_once_gives_what_fresh_processes_give(
    expected: dict[Job, Result], rounds: int, tmp_path: pathlib.Path
) -> None:
    cache = CompileCache(tmp_path)

    def find_in_the_cache(dice: random.Random) -> None:
        job = dice.choice(JOBS)
        with OptionContext.from_args(job.options, base="defaults"):
            found = cache.compile(job.ir, job.passes, triple=job.triple, cpu=job.cpu, emit=job.emit)
            assert found.code == expected[job].code

    works = [
        compile_in_new_contexts(expected),
        share_contexts(expected),
        share_contexts(expected),
        bind_and_unbind,
        record_reads,
        carry_to_a_thread,
        look_around,
        find_in_the_cache,
        find_in_the_cache,
    ]

    def repeat(number: int, work: Work) -> None:
        dice = random.Random(number)
        for _ in range(rounds):
            work(dice)
            assert current() == OptionContext(base="defaults")

    in_threads([partial(repeat, n, work) for n, work in enumerate(works)])
    assert not drift()
    assert {job: scoped(job) for job in JOBS} == expected


def test_whoever_enters_while_another_thread_detaches_is_inside() -> None:
    """Either it is refused, or the code is redirected again before anything runs in the scope."""
    detached = 0

    def enter(number: int) -> None:
        dice = random.Random(number)
        deadline = time.monotonic() + SECONDS / 2
        while detached < DETACHED and time.monotonic() < deadline:
            time.sleep(dice.random() / 100)
            with OptionContext({"unroll-count": 4}, base="defaults"):
                assert unrolled() == 4
            time.sleep(dice.random() / 100)
            with record() as log:
                assert unrolled() == 1
            assert "unroll-count" in log.names

    def detach_again_and_again() -> None:
        nonlocal detached
        deadline = time.monotonic() + SECONDS / 2
        while detached < DETACHED and time.monotonic() < deadline:
            try:
                detach()
                detached += 1
            except ScopeError:
                pass  # somebody is inside
            time.sleep(0.001)

    in_threads([lambda: enter(1), lambda: enter(2), detach_again_and_again])
    assert detached == DETACHED
    with OptionContext({"unroll-count": 4}):
        assert unrolled() == 4

"""Scopes held across an `await`: an error for other tasks before Python 3.14, then each task's own."""

from __future__ import annotations

import asyncio
import gc
import itertools
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from llvmlite import binding

from optctx import OptionContext, ScopeError, current, info, record, run_passes
from optctx.compiling import FreshProcess, Job, compile_job
from tests.support.ir_texts import COUNTED, SCALE, X86
from tests.support.rows import rows
from tests.support.scopes import (
    FOLLOWS_TASKS,
    OUTSIDE,
    UNROLLED_ONCE,
    both,
    copied_inside,
    eight,
    four,
    in_threads,
    unrolled_by_llvmlite,
)

pytestmark = pytest.mark.usefixtures("outside")

untold = pytest.mark.skipif(
    FOLLOWS_TASKS,
    reason="needs a Python before 3.14: here, the tests below have its place",
)


def run(main: Callable[[], Coroutine[Any, Any, None]], *, eager: bool = False) -> None:
    async def started() -> None:
        if eager:
            factory = asyncio.eager_task_factory  # type: ignore[attr-defined, unused-ignore]
            asyncio.get_running_loop().set_task_factory(factory)
        await main()

    asyncio.run(started())


class Held:
    """A task that waits inside a scope."""

    def __init__(self, context: OptionContext) -> None:
        self.inside, self.leave = asyncio.Event(), asyncio.Event()
        self.seen: list[object] = []
        self.task = asyncio.create_task(self.hold(context))

    async def hold(self, context: OptionContext) -> None:
        with context:
            self.seen.append(both())
            self.inside.set()
            await self.leave.wait()
            self.seen.append((both(), current()))
        self.seen.append(both())


def compile_something() -> None:
    with binding.create_context() as context, binding.parse_assembly(COUNTED, context) as module:
        run_passes(module, "default<O1>")


SEEN: dict[str, Callable[[], object]] = {
    "entering": lambda: eight().__enter__(),
    "compiling": compile_something,
    "asking": current,
    "inheriting": lambda: OptionContext({"unroll-count": 2}),
}


@untold
@rows(("act", "inside"), itertools.product(SEEN, (False, True)))
def test_a_scope_held_across_an_await_is_an_error_for_the_next_task(act: str, inside: bool) -> None:
    expected = r"inside OptionContext\(\{'unroll-count': 4\}\), which another task entered.*to_thread"
    if inside:
        expected = r"in a task inside OptionContext\(\{'unroll-count': 8\}\).*" + expected

    async def main() -> None:
        held = Held(context)
        await held.inside.wait()
        with pytest.raises(ScopeError, match=expected):
            SEEN[act]()
        held.leave.set()
        await held.task
        assert held.seen == [(4, 4), ((4, 4), context), (8, 8) if inside else OUTSIDE]

    context, copied = four(), copied_inside(eight())
    if inside:
        copied.run(run, main)
    else:
        run(main)


@untold
def test_a_child_that_holds_a_scope_is_an_error_for_its_parent() -> None:
    async def main() -> None:
        with four() as context:
            held = Held(eight())
            await held.inside.wait()
            with pytest.raises(ScopeError, match=r"in a task inside .*: 4.* still inside .*: 8"):
                current()
            with pytest.raises(ScopeError, match=r"cannot leave .*: 4.* still inside .*: 8"):
                context.__exit__()
            held.leave.set()
            await held.task
            assert (both(), current()) == ((4, 4), context)

    run(main)


def test_llvmlites_calls_see_their_own_task_while_another_holds_a_scope() -> None:
    async def main() -> None:
        held = Held(context)
        await held.inside.wait()
        assert unrolled_by_llvmlite() == UNROLLED_ONCE
        assert copied_before.run(unrolled_by_llvmlite) == 8
        held.leave.set()
        await held.task
        assert held.seen == [(4, 4), ((4, 4), context), OUTSIDE]

    context, copied_before = four(), copied_inside(eight())
    run(main)


def test_a_pending_task_that_is_dropped_leaves_its_scope() -> None:
    async def main() -> None:
        held = Held(four())
        await held.inside.wait()

    run(main)  # cancels it
    loop = asyncio.new_event_loop()

    async def start() -> asyncio.Task[None]:
        held = Held(four())
        await held.inside.wait()
        return held.task

    task = loop.run_until_complete(start())
    assert info()["active_scopes"] == 1
    loop.close()
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    del task
    gc.collect()
    assert info()["active_scopes"] == 0


def test_an_asynchronous_generator_that_is_closed_by_the_loop_leaves_its_scope() -> None:
    async def steps() -> AsyncIterator[tuple[int, int]]:
        with four():
            yield both()

    async def main() -> None:
        running = steps()
        assert await anext(running) == (4, 4)
        del running
        gc.collect()
        await asyncio.sleep(0.01)
        assert info()["active_scopes"] == 0
        assert both() == OUTSIDE

    run(main)


# Where the interpreter reports switches

told = pytest.mark.skipif(
    not FOLLOWS_TASKS, reason="needs Python 3.14, where scopes follow tasks: `make test-long`"
)

JOBS = [
    replace(job, options=options)
    for job in (Job(SCALE, triple=X86), Job(COUNTED, "default<O2>", triple=X86, emit="assembly"))
    for options in (
        (),
        ("-unroll-count=2",),
        ("-unroll-count=8", "-force-vector-width=1"),
        ("-force-vector-width=8", "-force-vector-interleave=2"),
        ("-vectorize-loops=false", "-x86-asm-syntax=intel"),
        ("-enable-tail-merge=false", "-unroll-runtime=false"),
    )
]


@told
@rows("eager", [False, True])
def test_interleaved_tasks_compile_as_fresh_processes_do(fresh: FreshProcess, eager: bool) -> None:
    """Also in loops on several threads at once. Code beside these tasks is outside every scope."""
    expected = {job: fresh.compile(job) for job in JOBS}
    assert len(set(expected.values())) > len(JOBS) // 2

    async def work(number: int) -> int:
        dice = random.Random(number)
        right = 0
        for _ in range(6):
            job = dice.choice(JOBS)
            with OptionContext.from_args(job.options, base="defaults") as context:
                await asyncio.sleep(dice.choice((0, 0, 0.001)))
                right += compile_job(job) == expected[job] and current() is context
                await asyncio.sleep(0)
                inner = dice.choice(JOBS)
                with OptionContext.from_args(inner.options, base="defaults"):
                    await asyncio.sleep(0)
                    right += compile_job(inner) == expected[inner]
                right += compile_job(job) == expected[job]
        return right

    async def main() -> None:
        tasks = [asyncio.create_task(work(number)) for number in range(8)]
        for _ in range(3):
            await asyncio.sleep(0)
            assert (both(), current()) == (OUTSIDE, OptionContext(base="defaults"))
        assert await asyncio.gather(*tasks) == [18] * 8

    run(main, eager=eager)
    in_threads([lambda: run(main, eager=eager)] * 3)


@told
def test_asynchronous_generators_and_task_groups_keep_their_scopes() -> None:
    async def steps(context: OptionContext) -> AsyncIterator[tuple[int, int]]:
        """It runs in the task that asks for the next value, and so does its scope."""
        with context:
            for _ in range(3):
                await asyncio.sleep(0)
                yield both()

    async def work(count: int) -> None:
        seen = [each async for each in steps(OptionContext({"unroll-count": count}, base="defaults"))]
        assert (seen, both()) == ([(count, count)] * 3, OUTSIDE)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for count in (2, 3, 4, 5):
                group.create_task(work(count))

    run(main)


@told
def test_contexts_follow_bound_and_recorded_runs_between_switches() -> None:
    async def work(count: int, bound: OptionContext | None) -> None:
        binding.initialize_all_targets()
        with OptionContext({"unroll-count": count}, base="defaults"), binding.create_context() as own:
            if bound is not None:
                bound.bind(own)
            for _ in range(5):
                await asyncio.sleep(0)
                with binding.parse_assembly(COUNTED, own) as module, record() as log:
                    manager = binding.create_new_module_pass_manager()
                    manager.add_loop_unroll_pass()
                    machine = binding.Target.from_triple(X86).create_target_machine()
                    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
                    manager.run(module, builder)
                    expected = 6 if bound else count
                    assert str(module).count("store volatile") == expected
                assert log.reads["unroll-count"].value == expected

    async def main() -> None:
        six = OptionContext({"unroll-count": 6}, base="defaults")
        await asyncio.gather(work(2, None), work(3, six), work(4, None), work(5, six))

    run(main)

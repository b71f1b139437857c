"""Scopes that are held across an `await`, where the interpreter reports switches (Python 3.14)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from llvmlite import binding

from optctx import OptionContext, current, record
from optctx.compiling import FreshProcess, Job, compile_job
from tests.support.ir_texts import COUNTED, SCALE, X86
from tests.support.rows import rows
from tests.support.scopes import FOLLOWS_TASKS, OUTSIDE, both, in_threads

pytestmark = [
    pytest.mark.skipif(
        not FOLLOWS_TASKS,
        reason="needs Python 3.14 without turns, where scopes follow tasks: `make test-long`",
    ),
    pytest.mark.usefixtures("outside"),
]

Main = Callable[[], Coroutine[Any, Any, None]]
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


def run(main: Main, *, eager: bool = False) -> None:
    async def started() -> None:
        if eager:
            factory = asyncio.eager_task_factory  # type: ignore[attr-defined, unused-ignore]
            asyncio.get_running_loop().set_task_factory(factory)
        await main()

    asyncio.run(started())


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

"""Scopes and asyncio; where they do not follow tasks, one held across an `await` is an error for others."""

from __future__ import annotations

import asyncio
import gc
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from llvmlite import binding

from optctx import OptionContext, ScopeError, current, info, run_passes
from tests.support.ir_texts import COUNTED
from tests.support.rows import rows
from tests.support.scopes import (
    FOLLOWS_TASKS,
    OUTSIDE,
    UNROLLED_ONCE,
    both,
    copied_inside,
    eight,
    four,
    unrolled_by_llvmlite,
)

pytestmark = pytest.mark.usefixtures("outside")

untold = pytest.mark.skipif(
    FOLLOWS_TASKS,
    reason="needs a Python before 3.14: here, tests/optctx/tasks/test_asyncio_tasks.py has its place",
)


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(main())


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

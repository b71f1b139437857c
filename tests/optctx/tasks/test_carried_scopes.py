"""Scopes go where contextvars go: with a copied context and, from Python 3.14 on, with a task that awaits."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context

import pytest
from llvmlite import binding

from optctx import OptionContext, ScopeError, UnreadOptionError, current, info, run_passes
from tests.support.alone import alone
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
    in_threads,
    unrolled_by_llvmlite,
)

pytestmark = pytest.mark.usefixtures("outside")


def test_a_scope_entered_and_not_left_in_a_copy_is_named_until_somebody_leaves_it() -> None:
    context, copy = four(), copy_context()
    copy.run(context.__enter__)
    assert copy.run(both) == (4, 4)
    if not FOLLOWS_TASKS:
        with pytest.raises(ScopeError, match=r"still inside OptionContext.*'unroll-count': 4"):
            current()
    copy.run(context.__exit__)
    assert current() == OptionContext(base="defaults")
    copy.run(context.__enter__)
    context.__exit__()  # as where a pending task is dropped: its coroutine is closed from elsewhere
    assert info()["active_scopes"] == 0
    assert current() == OptionContext(base="defaults")


def test_a_scope_is_not_left_from_a_copy_that_runs_inside_it() -> None:
    def inside() -> None:
        with four() as context:
            with pytest.raises(ScopeError, match="further out on this thread; leave it there"):
                copy_context().run(context.__exit__)
            assert (both(), current()) == ((4, 4), context)

    copy_context().run(inside)


def test_scopes_in_a_callback_under_llvmlites_lock() -> None:
    """Code that LLVM calls back in the middle of a call is inside what the call was made in."""

    def during_a_call() -> tuple[object, ...]:
        with binding.ffi.lib._lock:
            seen = [both()]
            with OptionContext({"unroll-count": 2}):
                seen.append(both())
            return *seen, copied_outside.run(both), both()

    copied_outside = copy_context()
    expected = ((4, 4), (2, 2), OUTSIDE, (4, 4))
    inside = copied_inside(four())
    with eight():
        assert inside.run(during_a_call) == expected
    with four():
        assert during_a_call() == expected


@alone
def test_a_library_call_whose_scope_cannot_be_entered_is_reported_once() -> None:
    told = []
    sys.unraisablehook = lambda problem: told.append(str(problem.exc_value))
    with suppress(UnreadOptionError), OptionContext({"unroll-count": 4}, base="defaults", unread="error"):
        copy = copy_context()

    def work() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSEGV])
        for _ in range(2):
            assert copy.run(unrolled_by_llvmlite) == UNROLLED_ONCE

    in_threads([work])
    assert told == [
        "optctx: LLVM is called outside the scope of its task: this thread blocks SIGSEGV, by which it is "
        "told that an option is read"
    ]


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


@pytest.mark.skipif(FOLLOWS_TASKS, reason="needs a Python before 3.14: here, the last test has its place")
@rows("inside", (False, True))
def test_a_scope_held_across_an_await_is_an_error_for_the_next_task(inside: bool) -> None:
    expected = r"inside OptionContext\(\{'unroll-count': 4\}\), which another task entered.*to_thread"
    if inside:
        expected = r"in a task inside OptionContext\(\{'unroll-count': 8\}\).*" + expected

    async def main() -> None:
        held = Held(context)
        await held.inside.wait()
        for act in SEEN.values():
            with pytest.raises(ScopeError, match=expected):
                act()
        held.leave.set()
        await held.task
        assert held.seen == [(4, 4), ((4, 4), context), (8, 8) if inside else OUTSIDE]

    context, copied = four(), copied_inside(eight())
    if inside:
        copied.run(asyncio.run, main())
    else:
        asyncio.run(main())


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
    asyncio.run(main())


def test_a_pending_task_that_is_dropped_leaves_its_scope() -> None:
    async def main() -> None:
        held = Held(four())
        await held.inside.wait()

    asyncio.run(main())  # cancels it
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


@pytest.mark.skipif(
    not FOLLOWS_TASKS, reason="needs Python 3.14, where scopes follow tasks: `make test-long`"
)
@rows("eager", [False, True])
def test_interleaved_tasks_are_each_in_their_own_scope(eager: bool) -> None:
    """Also in loops on several threads at once. Code beside these tasks is outside every scope."""

    async def work(count: int) -> None:
        with OptionContext({"unroll-count": count}, base="defaults") as context:
            for _ in range(4):
                await asyncio.sleep(0)
                assert (both(), current()) == ((count, count), context)

    async def main() -> None:
        if eager:
            factory = asyncio.eager_task_factory  # type: ignore[attr-defined, unused-ignore]
            asyncio.get_running_loop().set_task_factory(factory)
        tasks = [asyncio.create_task(work(2 + number % 3)) for number in range(8)]
        for _ in range(3):
            await asyncio.sleep(0)
            assert (both(), current()) == (OUTSIDE, OptionContext(base="defaults"))
        await asyncio.gather(*tasks)

    asyncio.run(main())
    in_threads([lambda: asyncio.run(main())] * 3)

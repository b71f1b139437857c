"""Every way to hand work over: which scope it runs in, and that the caller's own is there afterwards."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import partial
from typing import Any

import pytest
from llvmlite import binding

from optctx import ContainmentWarning, OptionContext, contained, current, propagating, wrap
from tests.support.processes import SECONDS
from tests.support.rows import rows
from tests.support.scopes import OUTSIDE, UNROLLED_ONCE, both, eight, four, set_option, unrolled

pytestmark = pytest.mark.usefixtures("attached", "outside", "workers")

OUTSIDE_COPY = copy_context()
Work = Callable[[], Any]
Way = Callable[[Work], Work]  # made out of the work now, called later

INHERITS = bool(getattr(sys.flags, "thread_inherit_context", False))  # every thread: Python 3.14
WORKERS = 4
POOL = ThreadPoolExecutor(WORKERS)  # the same threads for every way and scope


@pytest.fixture(scope="module")
def workers() -> Iterator[None]:
    """Has POOL start its threads outside any scope, which is all that they may inherit."""
    together = threading.Barrier(WORKERS, timeout=SECONDS)
    list(POOL.map(lambda _: together.wait(), range(WORKERS)))
    yield
    POOL.shutdown()


def on_a_thread(work: Work) -> Any:
    with ThreadPoolExecutor(1) as new:
        return new.submit(work).result(SECONDS)


def call(work: Work) -> Any:
    return work()


def in_the_pool(work: Work) -> Any:
    return POOL.submit(work).result(SECONDS)


def in_a_loop(start: Callable[[asyncio.AbstractEventLoop, Work], asyncio.Future[Any]]) -> Way:
    """What `start` schedules when the way is made, run to its end when the way is called."""

    def way(work: Work) -> Work:
        loop = asyncio.new_event_loop()
        future = start(loop, work)

        def run() -> Any:
            try:
                return loop.run_until_complete(future)
            finally:
                loop.close()

        return run

    return way


async def after_an_await(work: Work) -> Any:
    await asyncio.sleep(0)
    return work()


async def by_a_task(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return await asyncio.create_task(coroutine)


# The scope in which the way was made, whoever calls it: entered once more, with what was set in it.
WRAPPED: dict[str, Way] = {
    "wrap": wrap,
    "wrap on a thread": lambda work: partial(on_a_thread, wrap(work)),
    "propagating, submit": lambda work: partial(propagating(POOL).submit(work).result, SECONDS),
    "propagating, map": lambda work: partial(next, propagating(POOL).map(call, [work], timeout=SECONDS)),
    "propagating by run_in_executor": in_a_loop(
        lambda loop, work: loop.run_in_executor(propagating(POOL), work)
    ),
}
# The same scope itself, for as long as it lasts.
COPIED: dict[str, Way] = {
    "a copied context": lambda work: partial(copy_context().run, work),
    "a copied context in a pool": lambda work: partial(in_the_pool, partial(copy_context().run, work)),
    "an asyncio task": in_a_loop(lambda loop, work: loop.create_task(after_an_await(work))),
}
# The scope of the caller.
CALLED: dict[str, Way] = {
    "a generator": lambda work: partial(next, (work() for _ in range(1))),
    "a task of a task": lambda work: lambda: asyncio.run(by_a_task(after_an_await(work))),
    "to_thread in a task": lambda work: lambda: asyncio.run(by_a_task(asyncio.to_thread(work))),
}
# None, except where threads inherit the scope in which they start.
STARTED: dict[str, Way] = {"a thread": lambda work: partial(on_a_thread, work)}
# None.
LEFT: dict[str, Way] = {
    "a pool": lambda work: partial(in_the_pool, work),
    "run_in_executor": in_a_loop(lambda loop, work: loop.run_in_executor(POOL, work)),
}
MADE = {**WRAPPED, **COPIED}
CARRIED = {**MADE, **CALLED, **(STARTED if INHERITS else {})}
WAYS = {**MADE, **CALLED, **STARTED, **LEFT}
ways = rows("way", list(WAYS))


def look() -> tuple[tuple[int, int], OptionContext, object]:
    """What LLVM does here, and what optctx says about it."""
    return both(), current(), OptionContext()["unroll-count"]


def expected(context: OptionContext | None) -> tuple[tuple[int, int], OptionContext, object]:
    if context is None:
        return OUTSIDE, OptionContext(base="defaults"), 0
    count = context.get("unroll-count", int)
    return (count, count), context, count


def look_and_nest() -> object:
    """The same, before and after scopes and copies of its own."""
    seen = look()
    with OptionContext({"unroll-count": 2}, base="defaults") as inner:
        assert look() == expected(inner)
        with seen[1]:
            assert look() == seen
        assert OUTSIDE_COPY.copy().run(look) == expected(None)
        assert look() == expected(inner)
    assert look() == seen
    return seen


def inside(context: OptionContext | None) -> AbstractContextManager[object]:
    return nullcontext() if context is None else context


def whose(way: str, made: OptionContext | None, caller: OptionContext | None) -> OptionContext | None:
    """Whose scope the work is in."""
    return made if way in MADE else caller if way in CARRIED else None


@ways
def test_a_scope_goes_along_or_stays_and_the_callers_own_is_there_afterwards(way: str) -> None:
    for made, caller, work in (
        (four(), None, look),
        (here := four(), here, look),
        (None, eight(), look),
        (four(), eight(), look_and_nest),
    ):
        with inside(made):
            go = WAYS[way](work)
        with inside(caller):
            assert go() == expected(whose(way, made, caller))
            assert look() == expected(caller)
    assert look() == expected(None)


@ways
def test_an_exception_of_the_work_is_the_callers_and_leaves_nothing_behind(way: str) -> None:
    def fail() -> None:
        with pytest.raises(RuntimeError):
            binding.parse_assembly("nonsense")
        raise KeyError(unrolled())

    with four() as context:
        go = WAYS[way](fail)
        with pytest.raises(KeyError) as raised:
            go()
        assert raised.value.args == (4 if way in CARRIED else UNROLLED_ONCE,)
        assert look() == expected(context)


@rows("way", CARRIED)
def test_what_was_set_in_a_scope_stays_on_its_thread_unless_it_is_wrapped(way: str) -> None:
    def work() -> tuple[int, int, list[str], int]:
        before, told = unrolled(), []
        try:
            set_option("unroll-count", "2")
        except ContainmentWarning as warning:
            told.append(str(warning))
        return before, unrolled(), told, threading.get_ident()

    with contained():
        set_option("unroll-count", "8")
        before, after, told, thread = WAYS[way](work)()
        if way in WRAPPED:
            assert (before, after, told, unrolled()) == (8, 2, [], 8)
        elif thread == threading.get_ident():
            assert (before, after, told, unrolled()) == (8, 2, [], 2)
        else:
            assert (before, after, unrolled()) == (UNROLLED_ONCE, UNROLLED_ONCE, 8)
            assert "this thread works in a scope that another thread has entered" in told.pop()
        set_option("unroll-count", "8")
        later = WAYS[way](unrolled)
    assert later() == (8 if way in WRAPPED else UNROLLED_ONCE)

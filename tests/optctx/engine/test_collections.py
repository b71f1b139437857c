"""Garbage collections at any allocation: finalisers and callbacks enter and leave scopes inside other work.

Before Python 3.12 an allocation runs the collector, inside a native step as well. Later versions run it
between two instructions of the interpreter. Everything runs in processes of its own.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from optctx import OptionContext, _native, current
from tests.support.alone import alone
from tests.support.installed import FREE_THREADED
from tests.support.interrupts import state, works
from tests.support.scopes import four, mark, unrolled

pytestmark = [
    pytest.mark.skipif(
        FREE_THREADED, reason="needs a Python with the GIL: other collectors wait until memory has grown"
    ),
]

inner: Any = None  # of the process that a test has of its own
problems: list[str] = []  # nothing catches what a collection raises, so it is kept
runs, collects = [0], [False]


def begin() -> dict[str, Callable[[], object]]:
    global inner
    inner = OptionContext({"unroll-count": 8}, base="defaults")
    return works()


def seen() -> tuple[object, ...]:
    return mark(), _native.in_line()


def enter_and_leave(*_: object) -> None:
    runs[0] += 1
    before = seen()
    try:
        with inner:
            assert current() is inner
            inner.run(int)
    except BaseException as error:
        problems.append(repr(error))
    if seen() != before:
        problems.append(f"{before} became {seen()}")


def suspended() -> Iterator[None]:
    with inner:
        yield


class Suspended:
    """Garbage that holds a scope, which ends with it. Each one leaves another for the next collection."""

    def __init__(self) -> None:
        self.itself = self
        self.generator = suspended()
        with contextlib.suppress(BaseException):
            next(self.generator)

    def __del__(self) -> None:
        if collects[0]:
            type(self)()


def collecting(work: Callable[[], object], times: int, litter: Callable[[], object] = int) -> None:
    """Does the work while every second allocation collects garbage."""
    for _ in range(times):
        litter()
        collects[0] = True
        gc.set_threshold(1)
        try:
            work()
        except BaseException as error:
            problems.append(repr(error))
        finally:
            gc.set_threshold(0)
            collects[0] = False


WORKS = (
    *("empty", "nested", "generators", "run", "decorated", "wrapped", "recorded"),
    *("unread warns", "compiled", "compiled in the global context", "emitted", "bound"),
)


@alone
def test_scopes_of_a_collection_end_inside_whatever_it_interrupts() -> None:
    """Those of a callback, which the collector calls where it would call finalisers."""
    work, before = begin(), state()
    gc.callbacks[:] = [enter_and_leave]
    for name in WORKS:
        collecting(work[name], 2)
        after = state()
        assert not problems, (name, problems[:3])
        assert after == before, (name, before, after)
    gc.callbacks.clear()
    gc.collect()
    assert runs[0] > 20
    with four():
        assert unrolled() == 4


@alone
def test_a_collection_leaves_the_scopes_that_only_garbage_holds() -> None:
    """They are left where possible: the scope that is being entered or left may be inside or around them."""
    sys.unraisablehook = lambda _: None  # a generator cannot leave a scope that is not the innermost one
    begin()
    outer = four()

    def work() -> None:
        for _ in range(5):
            with contextlib.suppress(Exception), outer:
                assert current() in (outer, inner)

    before = state()
    collecting(work, 50, Suspended)
    gc.collect()
    assert state() == before, (state(), before)
    assert not problems, problems[:3]
    with outer:
        assert unrolled() == 4

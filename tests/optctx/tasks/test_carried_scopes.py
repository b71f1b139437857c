"""Scopes go where contextvars go: code that runs in a copied context is inside what the copy was made in."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from contextvars import copy_context

import pytest
from llvmlite import binding

from optctx import OptionContext, ScopeError, UnreadOptionError, current, info
from tests.support.alone import alone
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

"""Scopes follow the task where the interpreter reports switches (Python 3.14); before, the tests do here."""

from __future__ import annotations

import contextvars
import sys
import weakref
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import TypeVar

import pytest

from optctx import OptionContext, ScopeError, _native, current, info
from tests.support.native_interface import NativeScope
from tests.support.scopes import (
    FOLLOWS_TASKS,
    OUTSIDE,
    both,
    eight,
    four,
    in_threads,
    scopes_become,
    unrolled_by_llvmlite,
)

R = TypeVar("R")


@pytest.fixture(autouse=True)
def _following() -> Iterator[None]:
    scopes_become(0)
    if FOLLOWS_TASKS:
        four()  # whoever makes a context has them followed
        yield
    else:
        assert not _native.watch_context_switches()
        _native.simulate_context_switches(True)
        yield
        _native.simulate_context_switches(False)
    scopes_become(0)
    assert both() == OUTSIDE


def switched() -> None:
    """What the interpreter reports, or nobody."""
    if not FOLLOWS_TASKS:
        _native.context_switched()
    assert _native.in_line(), "nothing is left to be brought in line around calls"


class Task:
    """Code that runs step by step in a contextvars.Context of its own, as a task of an event loop does."""

    def __init__(self, context: contextvars.Context | None = None) -> None:
        self.context = context or copy_context()

    def do(self, step: Callable[[], R]) -> R:
        def run() -> R:
            switched()
            return step()

        try:
            return self.context.run(run)
        finally:
            switched()


def test_scopes_of_several_tasks_are_entered_and_left_in_any_order() -> None:
    first, second, third = Task(), Task(), Task()
    one, two = four(), eight()
    first.do(one.__enter__)
    assert (both(), current()) == (OUTSIDE, OptionContext(base="defaults"))
    third.do(one.__enter__)  # one context, two scopes
    second.do(two.__enter__)
    assert (first.do(both), second.do(both), third.do(both)) == ((4, 4), (8, 8), (4, 4))
    assert (first.do(current), info()["active_scopes"]) == (one, 3)
    with pytest.raises(ScopeError, match="not the innermost"):
        second.do(one.__exit__)
    inner = OptionContext({"unroll-count": 2})
    first.do(inner.__enter__)
    assert (first.do(both), second.do(both), both()) == ((2, 2), (8, 8), OUTSIDE)
    second.do(two.__exit__)  # entered before the first task's inner one
    assert (first.do(both), second.do(both), both()) == ((2, 2), OUTSIDE, OUTSIDE)
    first.do(inner.__exit__)
    assert first.do(both) == (4, 4)
    first.do(one.__exit__)
    assert (first.do(both), third.do(both), both()) == (OUTSIDE, (4, 4), OUTSIDE)
    third.do(one.__exit__)


def test_a_scope_of_cpp_code_is_seen_where_its_thread_was() -> None:
    """It ends in any order with others of its kind and with the scopes of suspended tasks."""
    outer, inner, in_task = (NativeScope({"unroll-count": count}) for count in ("4", "2", "6"))
    task, two = Task(), eight()
    outer.__enter__()
    assert (both(), task.do(both), current()["unroll-count"]) == ((4, 4), (4, 4), 4)
    task.do(two.__enter__)
    assert (both(), task.do(both), task.do(current)) == ((4, 4), (8, 8), two)
    task.do(in_task.__enter__)
    assert (both(), task.do(both), task.do(current)["unroll-count"]) == ((4, 4), (6, 6), 6)
    with pytest.raises(ScopeError, match="not the innermost scope of this thread"):
        task.do(two.__exit__)
    inner.__enter__()
    outer.__exit__()
    assert (both(), task.do(both)) == ((2, 2), (6, 6))
    inner.__exit__()
    assert (both(), task.do(both)) == (OUTSIDE, (6, 6))
    task.do(in_task.__exit__)
    assert task.do(both) == (8, 8)
    task.do(two.__exit__)


def test_a_child_stays_inside_what_its_parent_left() -> None:
    parent, context, inner = Task(), four(), eight()
    parent.do(context.__enter__)
    child = Task(parent.do(copy_context))
    child.do(inner.__enter__)
    parent.do(context.__exit__)
    assert (parent.do(both), child.do(both)) == (OUTSIDE, (8, 8))
    child.do(inner.__exit__)
    with eight():
        assert (child.do(both), both()) == ((4, 4), (8, 8))


def test_on_another_thread_a_copy_is_inside_from_switch_to_switch() -> None:
    def check() -> None:
        carried = Task(inside)
        seen = carried.do(lambda: (both(), info()["active_scopes"]))
        assert seen == ((4, 4), 0), "a copy is nobody's entry"
        with eight():
            assert (carried.do(both), both()) == ((4, 4), (8, 8))
        for _ in range(100):
            carried.do(lambda: None)
        assert (both(), carried.do(unrolled_by_llvmlite)) == (OUTSIDE, 4)

    with four():
        inside = copy_context()
    in_threads([check])


def test_a_carried_scope_that_cpp_code_hides_is_carried_once_and_until_that_ends() -> None:
    """What takes its place is known by the address of its mark, which another may get once that is free."""

    def check() -> None:
        with four() as context:  # here: without the GIL, a thread that waits frees nothing that is its own
            inside = copy_context()
        carried, inner = weakref.ref(context), eight()
        del context
        task, hiding = Task(inside), NativeScope({"unroll-count": "6"})
        [mark] = (each for each in inside.values() if type(each).__name__ == "Mark")
        task.do(hiding.__enter__)
        references = sys.getrefcount(mark)
        for _ in range(20):
            assert (task.do(both), both()) == ((6, 6), OUTSIDE)
            task.do(inner.__enter__)
            assert (task.do(both), both()) == ((8, 8), OUTSIDE)
            task.do(inner.__exit__)
        assert sys.getrefcount(mark) == references
        del task, inside, mark
        other = Task()
        other.do(inner.__enter__)
        assert carried() is not None
        hiding.__exit__()
        other.do(inner.__exit__)
        with inner:
            assert carried() is None

    in_threads([check])

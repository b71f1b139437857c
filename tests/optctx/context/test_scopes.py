"""Scopes: what is in force when, in which thread; every misuse is an error and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext, ScopeError, _native, current, registry
from optctx.context import callbacks
from optctx.engine.attach import attach, attached
from optctx.image.loaded import Image
from tests.support.alone import alone
from tests.support.library_code import changed_code
from tests.support.scopes import UNROLLED_ONCE, eight, four, in_threads, scopes_become, unrolled

pytestmark = pytest.mark.usefixtures("outside")


def test_nested_scopes_restore_what_was_before() -> None:
    with four() as outer:
        assert (current(), unrolled()) == (outer, 4)
        with eight() as inner:
            assert (current(), unrolled()) == (inner, 8)
            with OptionContext({"inline-threshold": 1}):
                assert (current()["unroll-count"], unrolled()) == (8, 8)
            with OptionContext({"inline-threshold": 1}, base="defaults"):
                assert (current()["unroll-count"], unrolled()) == (0, UNROLLED_ONCE)
            assert current() is inner
            with outer:  # once more
                assert (current(), unrolled(), optctx.info()["active_scopes"]) == (outer, 4, 3)
        assert _native.in_line(), "LLVM sees the outer scope's values, though nothing has called it since"
        assert (current(), unrolled()) == (outer, 4)
    four().__enter__()  # while it is entered, it outlives its name
    assert unrolled() == 4
    current().__exit__(None, None, None)


def test_decorated_functions_and_those_that_are_run_are_called_inside() -> None:
    @four()
    def count(extra: int, *, more: int = 0) -> int:
        """How often."""
        return unrolled() // (1 - extra) + more

    assert count(0, more=2) == four().run(count, 0, more=2) == 6
    assert unrolled() == UNROLLED_ONCE
    assert (count.__name__, count.__doc__) == ("count", "How often.")
    with eight():
        assert count(0) == four().run(unrolled) == 4
        for call in (count, lambda extra: four().run(count, extra)):
            with pytest.raises(ZeroDivisionError):
                call(1)
        assert unrolled() == 8


def test_leaving_on_another_thread_changes_nothing_on_either() -> None:
    def leave() -> None:
        with pytest.raises(ScopeError, match="another thread"):
            context.__exit__(None, None, None)
        assert unrolled() == UNROLLED_ONCE
        with eight():
            with pytest.raises(ScopeError):
                context.__exit__(None, None, None)
            assert unrolled() == 8

    with four() as context:
        in_threads([leave])
        assert current() is context
        assert unrolled() == 4


def test_a_scope_in_a_generator_reaches_its_caller_until_it_is_left() -> None:
    def steps() -> Generator[int, None, None]:
        with four():
            yield unrolled()
        yield unrolled()

    running, closed = steps(), steps()
    assert next(running) == unrolled() == 4  # a scope belongs to the thread, not to the function
    assert next(running) == UNROLLED_ONCE
    assert next(closed) == 4
    closed.close()
    assert unrolled() == UNROLLED_ONCE
    assert next(steps()) == 4  # nobody keeps this one
    first, second = steps(), steps()
    assert next(first) == next(second) == 4
    with pytest.raises(ScopeError, match="not the innermost"):
        next(first)
    assert unrolled() == 4
    assert next(second) == 4  # the first one could not leave, as the error said
    current().__exit__(None, None, None)
    assert unrolled() == UNROLLED_ONCE


def test_a_thread_that_ends_inside_scopes_leaves_them() -> None:
    entered = []

    def forget() -> None:
        for context in (four(), eight()):
            entered.append(context.__enter__())
        assert unrolled() == 8

    in_threads([forget])
    scopes_become(0)
    with entered[0]:
        assert unrolled() == 4
    for context in entered:
        with pytest.raises(ScopeError):
            context.__exit__(None, None, None)


@alone
def test_what_anybody_sets_process_wide_does_not_reach_a_scope() -> None:
    with OptionContext({"inline-threshold": 1}) as context:
        in_threads([lambda: binding.set_option("", "-unroll-count=3")])
        assert registry()["unroll-count"].value == 3
        assert current() is context
        assert context["unroll-count"] == 0
        assert unrolled() == 1
        in_threads([lambda: unrolled() == 3 or 1 / 0])
    assert unrolled() == 3 == current()["unroll-count"]
    with OptionContext(base="defaults"):
        assert unrolled() == 1
    with OptionContext({"inline-threshold": 1}):
        assert unrolled() == 3
    with context:
        assert unrolled() == 1


@alone
def test_detaching_is_refused_inside_a_scope_and_puts_every_byte_back_outside() -> None:
    optctx.detach()  # nothing to do yet
    context = optctx.OptionContext({"unroll-count": 4})
    redirected = changed_code()
    assert redirected
    leaving: list[Callable[[], object]] = [optctx.detach, lambda: in_threads([optctx.detach])]
    with context:
        for leave in leaving:
            with pytest.raises(optctx.ScopeError) as caught:
                leave()
            assert "1 scope is still entered" in str(caught.value)
        assert unrolled() == 4
    optctx.detach()
    assert attached() is None
    assert changed_code() == []
    assert unrolled() == 1
    others = iter((optctx.detach, int))

    def overtaken(image: Image) -> None:
        attach(image)
        in_threads([next(others)])

    pytest.MonkeyPatch().setattr(callbacks, "attach", overtaken)
    with context:  # attaches again, and once more because another thread detaches meanwhile
        assert changed_code() == redirected
        assert unrolled() == 4
    assert optctx.registry()["unroll-count"].value == 0

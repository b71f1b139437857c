"""What code inside a scope gives to LLVM's own setters acts on that scope, and ends with it."""

from __future__ import annotations

import copy
import ctypes
import os
import pickle
import threading
import warnings
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llvmlite import binding

import optctx
from optctx import (
    ContainmentWarning,
    Option,
    OptionContext,
    contained,
    current,
    drift,
    record,
    registry,
    tool,
)
from tests.support.alone import end_of
from tests.support.endless import reached
from tests.support.examples import examples
from tests.support.option_values import one
from tests.support.processes import SECONDS, forked, in_child
from tests.support.scopes import UNROLLED_ONCE, both, four, in_threads, reset_all, set_option, unrolled

pytestmark = [pytest.mark.usefixtures("attached", "outside", "unchanged")]


@examples(40)
@given(st.lists(st.deferred(one), min_size=1, max_size=5))
def test_every_type_of_option_is_set_inside_as_a_context_sets_it(drawn: list[tuple[Option, object]]) -> None:
    arguments = [arg for option, value in drawn for arg in OptionContext({option.name: value}).args()]
    by_name = {registry()[option.name].name for option, _ in drawn}
    if len(by_name) < len(drawn) or not arguments:  # LLVM would count their occurrences together
        return
    expected = OptionContext.from_args(arguments)
    with contained() as context:
        for argument in arguments:
            binding.set_option("", argument)
        seen = context.with_sets()
        assert seen == expected == current()
        assert seen._native.changed == expected._native.changed
        assert pickle.loads(pickle.dumps(seen)) == expected
        with OptionContext() as nested:
            assert nested == expected
    assert contained() == OptionContext(base="defaults")


def test_lists_take_the_place_of_the_scopes_and_grow_inside() -> None:
    events: list[optctx.DriftEvent] = []
    with (
        optctx.watch(events.append),
        OptionContext({"force-attribute": ["f:cold"]}, base="defaults") as context,
    ):
        set_option("force-vector-width", "many")
        set_option("force-attribute", "g:noinline")
        set_option("force-attribute", "h:minsize")
        assert current()["force-attribute"] == ["g:noinline", "h:minsize"]
        assert context.with_sets() == OptionContext(
            {"force-attribute": ["g:noinline", "h:minsize"]}, base="defaults"
        )
    assert events == [], "watchers are not told of what is contained"


def test_a_reset_ends_with_the_scope_and_leaves_the_registered_values_in_it() -> None:
    with four():
        with OptionContext({"inline-threshold": 7}) as inner:
            set_option("unroll-count", "8")
            reset_all()
            assert both() == (UNROLLED_ONCE, UNROLLED_ONCE)
            assert inner.with_sets() == OptionContext(base="defaults")
            set_option("unroll-count", "2")
            assert inner.with_sets().args() == ["-unroll-count=2"]
            assert both() == (2, 2)
        assert both() == (4, 4)


BAD_VALUES = (
    ("-unroll-count=4", "-unroll-count=many"),
    ("-x86-align-branch=nonsense",),
    ("-unroll-count",),
    ("-no-such-option=1",),
)


def set_each(inside: bool) -> None:
    """Set each row in a child of its own, for LLVM refuses some at their second time in other words."""

    def child(arguments: tuple[str, ...]) -> None:
        with contained() if inside else nullcontext() as context:
            for argument in arguments:
                binding.set_option("", argument)
            if context is not None:
                assert context.with_sets().args() == list(arguments[:-1])
        assert not inside or not drift()

    if inside:
        optctx.attach()
    for arguments in BAD_VALUES:
        in_child(partial(child, arguments))
        print("next", flush=True)


def test_bad_values_are_refused_in_llvms_words_and_change_nothing() -> None:
    stock, inside = end_of(set_each, inside=False), end_of(set_each, inside=True)
    assert (inside.status, inside.failed) == (stock.status, stock.failed) == (0, "")
    *refusals, last, end = stock.printed.split("next\n")
    assert all(refusals)
    assert (last, end) == ("", "")
    assert inside.printed == stock.printed


@forked
def test_options_that_contexts_cannot_hold_are_set_for_the_process_with_a_warning() -> None:
    with (
        contained(),
        pytest.warns(ContainmentWarning, match="'time-passes' was set for the whole") as told,
    ):
        set_option("time-passes")
    assert told[0].filename == __file__ or "support" in told[0].filename
    assert list(drift()) == ["time-passes"]


def set_once(name: str) -> None:
    """As a library does at its first use."""
    binding.set_option("", f"-{name}=3")


def told(scope: OptionContext) -> list[str]:
    """What is said at which line of options that a library sets again and again in a scope."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            with scope:
                set_once("unroll-count")
                set_once("inline-threshold")
        reset_all()
    assert {(each.category, each.filename) for each in caught} <= {(ContainmentWarning, __file__)}
    return [f"line {each.lineno}: {each.message}" for each in caught]


def test_what_a_library_sets_inside_a_scope_is_said_once_for_each_option_and_place() -> None:
    line = set_once.__code__.co_firstlineno + 2
    for scope in (OptionContext(), OptionContext(unroll_count=4), OptionContext.from_args("-unroll-count=4")):
        first, second = told(scope)
        for text, name in ((first, "unroll-count"), (second, "inline-threshold")):
            assert text.startswith(f"line {line}: ")
            assert repr(name) in text
            assert "before the first scope, or outside scopes" in text
    for silent in (contained(), tool(), tool("-unroll-count=4"), copy.copy(contained()), tool().derive()):
        assert told(silent) == [], "it was asked for"
    with OptionContext(), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ContainmentWarning, match="'unroll-count'"):
            set_option("unroll-count", "2")
        assert both() == (2, 2), "it is set all the same"
    assert both() == (UNROLLED_ONCE, UNROLLED_ONCE)


def test_what_is_recorded_and_unread_is_right_inside() -> None:
    with OptionContext({"unroll-count": 4}, base="defaults", unread="error") as context, record() as log:
        assert unrolled() == 4
        set_option("unroll-count", "8")
        assert unrolled() == 8
        set_option("verify-dom-info", "false")
    assert "unroll-count" in log.reads
    context.__enter__()
    set_option("unroll-count", "8")
    assert unrolled() == 8  # which reads the new value, and not the override
    with pytest.raises(optctx.UnreadOptionError, match="unroll-count"):
        context.__exit__(None, None, None)


@forked
def test_what_was_set_process_wide_comes_back_only_outside_and_not_into_a_tool_or_with_a_reset() -> None:
    set_option("unroll-count", "8")
    with contained() as context:
        assert both() == (8, 8)
        reset_all()
        assert both() == (UNROLLED_ONCE, UNROLLED_ONCE)
        assert context.with_sets() == OptionContext(base="defaults")
    with four() as outer:
        set_option("inline-threshold", "3")
        before = outer.with_sets()
        with suppress(ZeroDivisionError), tool(["-unroll-count=2"]) as inner:
            assert both() == (2, 2)
            assert current()["inline-threshold"] == 225
            set_option("unroll-count", "3")
            with tool():
                assert both() == (UNROLLED_ONCE, UNROLLED_ONCE)
                set_option("unroll-count", "4")
                assert both() == (4, 4)
            assert both() == (3, 3)
            reset_all()
            assert inner.with_sets() == tool()
            assert both() == (UNROLLED_ONCE, UNROLLED_ONCE)
            1 / 0  # noqa: B018
        assert outer.with_sets() == before == current()
        assert both() == (4, 4)
    assert both() == (8, 8)
    assert list(drift()) == ["unroll-count"]
    reset_all()
    assert not drift()


def test_a_thread_waits_while_another_one_parses_and_a_child_of_fork_does_not(tmp_path: Path) -> None:
    """The first one's parser waits for its response file. The second one holds the GIL when it calls."""
    fifo = tmp_path / "arguments"
    os.mkfifo(fifo)
    began, parsed = threading.Event(), threading.Event()

    def parse(argument: str, library: ctypes.CDLL, count: int) -> None:
        with contained():
            library.LLVMPY_SetCommandLine(b"tool", argument.encode())
            if count == 3:
                parsed.set()
            assert both() == (count, count)

    def first() -> None:
        parse(f"@{fifo}", ctypes.CDLL(binding.ffi.lib._name), 2)

    def second() -> None:
        assert began.wait(SECONDS)
        parse("-unroll-count=3", ctypes.PyDLL(binding.ffi.lib._name), 3)

    def child() -> None:
        parse("-unroll-count=4", ctypes.PyDLL(binding.ffi.lib._name), 4)

    def third() -> None:
        with reached(str(fifo)) as writing:
            began.set()
            assert not parsed.wait(0.3)
            in_child(child)
            assert not parsed.is_set()
            os.write(writing, b"-unroll-count=2")
        assert parsed.wait(SECONDS)

    in_threads([first, second, third])

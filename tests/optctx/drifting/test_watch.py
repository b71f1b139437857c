"""`watch()`: who changes a process-wide value, and when."""

from __future__ import annotations

import contextlib
import linecache
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from llvmlite import binding

from optctx import (
    DriftEvent,
    DriftWarning,
    ScopeError,
    UnsupportedImageError,
    drift,
    watch,
)
from optctx._native import watchers
from optctx.drifting.comparison import Allowance
from tests.optctx.drifting.watching import ignore, told
from tests.support.ir_texts import COUNTED
from tests.support.library_code import LLVMLITE
from tests.support.processes import SECONDS, forked, in_child
from tests.support.runs import machine
from tests.support.scopes import parse_module, reset_all, set_option, unrolled_by_llvmlite, write

pytestmark = pytest.mark.usefixtures("attached")


def unraisable(work: Callable[[], object]) -> list[Any]:
    """What goes to `sys.unraisablehook` meanwhile."""
    found: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda each: found.append(each.exc_value)
    try:
        work()
    finally:
        sys.unraisablehook = hook
    return found


@forked
def test_a_warning_points_at_the_line_that_set_the_option() -> None:
    with watch(), pytest.warns(DriftWarning) as caught:
        binding.set_option("", "-unroll-count=4")  # this line
    [warning] = caught
    assert warning.filename == __file__
    assert linecache.getline(__file__, warning.lineno).rstrip().endswith("# this line")
    assert str(warning.message) == (
        "LLVM option 'unroll-count' was set process-wide from 0 to 4 (given once) by thread MainThread"
    )
    assert isinstance(warning.message, DriftWarning)
    assert isinstance(warning.message.event, DriftEvent)
    assert unrolled_by_llvmlite() == 4


@forked
def test_the_record_has_the_thread_and_both_stacks_of_the_moment() -> None:
    with watch(ignore) as watcher:
        thread = threading.Thread(target=set_option, args=("unroll-count", "4"), name="a library")
        thread.start()
        ident = thread.ident
        thread.join(SECONDS)
    [event] = watcher.events
    assert (event.name, event.before, event.after, event.occurrences) == ("unroll-count", 0, 4, 1)
    assert (event.exact, event.text, event.thread, event.thread_id) == (True, "4", "a library", ident)
    assert [frame.name for frame in event.stack][-3:] == ["set_option", "set_option", "__call__"]
    assert event.stack[-3].line == 'binding.set_option("", f"-{name}" if text is None else f"-{name}={text}")'
    assert event.native_stack[0].startswith("llvm::cl::ParseCommandLineOptions(")
    assert event.native_stack[1:3] == ("LLVMParseCommandLineOptions", "LLVMPY_SetCommandLine")
    assert "libffi" in event.native_stack[3] or "ctypes" in event.native_stack[3]
    report = event.report()
    assert "by thread a library" in report
    assert "binding.set_option(" in report
    assert "LLVMPY_SetCommandLine" in report


@forked
def test_a_warning_that_is_an_error_is_raised_by_the_call_or_goes_to_the_hook_for_what_cannot_raise() -> None:
    with watch():
        with pytest.raises(DriftWarning, match="from 0 to 4"):
            set_option("unroll-count", "4")
        assert drift()["unroll-count"].value == 4
        assert unraisable(parse_module) == []
        write("unroll-count", 7)
        [error] = unraisable(parse_module)
        assert isinstance(error, DriftWarning)
        write("unroll-count", 8)

        def set_another() -> None:
            with pytest.raises(DriftWarning, match="from 7 to 8"):
                set_option("slp-threshold", "1")

        [error] = unraisable(set_another)  # the call raises one of two
        assert "'slp-threshold' was set process-wide from 0 to 1" in str(error)


@forked
def test_the_callback_runs_when_llvm_is_done_and_may_use_it_and_raise() -> None:
    seen = []

    def callback(event: DriftEvent) -> None:
        seen.append((told(event), unrolled_by_llvmlite()))
        if event.after == 4:
            set_option("unroll-count", "5")  # heard of as well, inside this call
            raise ZeroDivisionError

    with watch(callback) as watcher:
        with pytest.raises(ZeroDivisionError):
            set_option("unroll-count", "4")
        assert seen == [(("unroll-count", 0, 4, True), 4), (("unroll-count", 4, 5, True), 5)]
        assert len(watcher.events) == 2


def test_a_callback_may_close_its_own_watcher() -> None:
    def callback(_event: DriftEvent) -> None:
        watcher.close()

    watcher = watch(callback)

    def child() -> None:
        set_option("unroll-count", "4")
        set_option("unroll-count", "5")
        assert watcher.closed
        assert [each.after for each in watcher.events] == [4]

    in_child(child)
    assert not watcher.closed  # here
    watcher.close()


def test_a_closed_watcher_cannot_be_entered() -> None:
    """Its block would go unwatched."""
    with watch(ignore) as watcher, watcher:
        assert not watcher.closed
    watcher.close()
    with pytest.raises(ScopeError, match="it is closed; call watch"), watcher:
        pass
    with contextlib.ExitStack() as stack, pytest.raises(ScopeError):
        stack.enter_context(watcher)


@forked
def test_all_watchers_hear_of_it_whatever_one_of_them_raises() -> None:
    def fail(event: DriftEvent) -> None:
        raise ZeroDivisionError(event.name)

    with watch(fail) as outer, watch(fail) as middle, watch(ignore) as inner:

        def work() -> None:
            with pytest.raises(ZeroDivisionError):
                set_option("unroll-count", "4")

        [second] = unraisable(work)
        assert isinstance(second, ZeroDivisionError)
        assert outer.events == middle.events == inner.events
        inner.close()
        inner.close()
        assert inner.closed
        assert repr(inner) == "<Watcher: closed, 1 event>"
        outer.close()
        with pytest.raises(ZeroDivisionError):
            set_option("unroll-count", "5")
        assert [len(each.events) for each in (outer, middle, inner)] == [1, 2, 1]


# What is given -> what is heard of it: name, value before and after, whether it was seen in the act.
HEARD: list[tuple[str, str | None, list[tuple[str, object, object, bool]]]] = [
    ("inline-threshold", "77", [("inline-threshold", 225, 77, True)]),
    ("stats", None, [("stats", False, True, True)]),
    ("debug-counter", "dse-memoryssa=0", [("debug-counter", None, None, True)]),
    ("pre-RA-sched", "linearize", [("pre-RA-sched", "default", "linearize", True)]),
    ("crash-diagnostics-dir", "here", [("crash-diagnostics-dir", "", "here", True)]),
    ("aarch64-stack-hazard-size", "7", [("aarch64-streaming-hazard-size", 0, 7, True)]),  # an alias
    # The same value is a change when it is given for the first time.
    ("unroll-count", "0", [("unroll-count", 0, 0, True)]),
    ("unroll-count", "0", []),
    # It changes another option with it.
    ("debug-only", "loop-unroll", [("debug-only", None, None, True), ("debug", False, True, False)]),
]


@forked
def test_every_kind_of_option_is_heard_of() -> None:
    for name, text, expected in HEARD:
        with watch(ignore) as watcher:
            set_option(name, text)
        assert [told(each) for each in watcher.events] == expected
        for event in watcher.events[:1]:
            assert event.text == text, name
            assert (event.before is None) == (f"to what {text!r} says" in str(event)), name


@forked
def test_writes_past_the_parsers_are_noticed_at_the_next_call() -> None:
    with watch(ignore) as watcher:
        write("unroll-count", 7)
        assert watcher.events == []
        parse_module()
        [event] = watcher.events
        assert told(event) == ("unroll-count", 0, 7, False)
        assert (event.native_stack, event.text) == ((), None)
        assert "this was noticed in thread MainThread" in str(event)
        assert "parse_module" in [frame.name for frame in event.stack]
        parse_module()
        assert len(watcher.events) == 1
        reset_all()
        parse_module()
        assert told(watcher.events[1]) == ("unroll-count", 7, 0, False)
        write("rng-seed", 9)  # which contexts refuse
    assert told(watcher.events[2]) == ("rng-seed", 0, 9, False)


@forked
def test_what_llvm_itself_writes_is_noticed() -> None:
    with watch(ignore) as watcher, binding.create_context() as context:
        with binding.parse_assembly(COUNTED, context) as module, machine("bpf") as target:
            target.emit_object(module)
        [event] = watcher.events
    # And it is there for whatever is compiled next.
    assert told(event) == ("min-jump-table-entries", 4, 13, False)
    assert list(drift()) == ["min-jump-table-entries"]
    assert "emit_object" in [frame.name for frame in event.stack]


@forked
def test_closing_looks_for_the_last_time_and_raises() -> None:
    watcher = watch()
    write("unroll-count", 7)
    with pytest.raises(DriftWarning):
        watcher.close()
    assert watcher.closed
    with pytest.raises(DriftWarning), watch():
        write("unroll-count", 8)

    def fail_inside() -> None:
        with contextlib.suppress(ZeroDivisionError), watch():
            write("unroll-count", 9)
            raise ZeroDivisionError

    assert [type(each) for each in unraisable(fail_inside)] == [DriftWarning]


def test_what_llvm_refuses_counts_as_given_and_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    def child() -> None:
        with watch(ignore) as watcher:
            set_option("stats", "x")
            set_option("no-such-option")
        [event] = watcher.events
        assert (event.after, event.occurrences, event.refused) == (False, 1, True)
        assert "(given once; LLVM refused 'x')" in str(event)
        assert list(drift()) == ["stats"]

    in_child(child)
    assert "invalid value for boolean argument" in capfd.readouterr().err


def test_where_llvm_cannot_be_watched_nothing_is_left_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("the kernel forbids it")

    watch(ignore).close()
    monkeypatch.setattr(import_module("optctx.drifting.watch"), "add_watcher", refuse)
    with pytest.raises(UnsupportedImageError, match="the kernel forbids it; nothing was changed"):
        watch(ignore)
    assert watchers(LLVMLITE) == ()
    monkeypatch.undo()
    with watch(ignore) as watcher:
        assert not watcher.closed


def test_calls_that_come_fast_compare_so_often_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("optctx.drifting.comparison.time.monotonic", lambda: now)
    allowance = Allowance(each_second=25, at_once=20)
    assert [allowance.take() for _ in range(22)] == [True] * 20 + [False] * 2
    now += 0.04
    assert [allowance.take() for _ in range(2)] == [True, False]
    now += 1000
    assert [allowance.take() for _ in range(21)] == [True] * 20 + [False]

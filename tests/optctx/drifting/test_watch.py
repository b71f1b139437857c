"""`watch()`: who sets an option process-wide, as it happens."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from llvmlite import binding

import optctx
from optctx import DriftEvent, OptionContext, drift, watch
from optctx._native import Span
from optctx.engine.attach import attach
from tests.support.library_code import read_words
from tests.support.processes import SECONDS, forked, in_child
from tests.support.scopes import in_threads, parse_module, set_option, unrolled_by_llvmlite, write

pytestmark = pytest.mark.usefixtures("attached")


def ignore(_event: DriftEvent) -> None:
    """A callback."""


def told(event: DriftEvent) -> tuple[object, ...]:
    return event.name, event.text


@forked
def test_the_event_has_the_thread_and_both_stacks_of_the_moment() -> None:
    events: list[DriftEvent] = []
    with watch(events.append):
        thread = threading.Thread(target=set_option, args=("unroll-count", "4"), name="a library")
        thread.start()
        thread.join(SECONDS)
    [event] = events
    assert (*told(event), event.refused, event.thread) == ("unroll-count", "4", False, "a library")
    assert [frame.name for frame in event.stack][-3:] == ["set_option", "set_option", "__call__"]
    assert event.stack[-3].line == 'binding.set_option("", f"-{name}" if text is None else f"-{name}={text}")'
    assert event.native_stack[0].startswith("llvm::cl::ParseCommandLineOptions(")
    assert event.native_stack[1:3] == ("LLVMParseCommandLineOptions", "LLVMPY_SetCommandLine")
    assert "libffi" in event.native_stack[3] or "ctypes" in event.native_stack[3]
    assert str(event) == "LLVM option 'unroll-count' was set process-wide to '4' by thread a library"
    for shown in ("by thread a library", "binding.set_option(", "LLVMPY_SetCommandLine"):
        assert shown in event.report()


@forked
def test_the_callback_runs_at_the_call_which_raises_what_it_raises() -> None:
    seen = []

    def callback(event: DriftEvent) -> None:
        seen.append((told(event), threading.current_thread().name))
        raise ZeroDivisionError

    with watch(callback):
        with pytest.raises(ZeroDivisionError):
            set_option("unroll-count", "4")
        assert unrolled_by_llvmlite() == 4
    assert seen == [(("unroll-count", "4"), "MainThread")]


@forked
def test_a_callback_may_close_its_own_watcher() -> None:
    events: list[DriftEvent] = []

    def callback(event: DriftEvent) -> None:
        events.append(event)
        watcher.close()

    watcher = watch(callback)
    set_option("unroll-count", "4")
    set_option("unroll-count", "5")
    assert watcher.closed
    assert [each.text for each in events] == ["4"]


# What is given, all in one child -> what is heard of it.
HEARD: list[tuple[str, str | None, list[tuple[str, str | None]]]] = [
    ("inline-threshold", "77", [("inline-threshold", "77")]),
    ("inline-threshold", "77", [("inline-threshold", "77")]),  # again
    ("stats", None, [("stats", None)]),
    ("pre-RA-sched", "linearize", [("pre-RA-sched", "linearize")]),
    ("filter-print-funcs", "a,b", [("filter-print-funcs", "a"), ("filter-print-funcs", "b")]),
    ("aarch64-stack-hazard-size", "7", [("aarch64-streaming-hazard-size", "7")]),  # an alias
    ("debug-only", "loop-unroll", [("debug-only", "loop-unroll")]),  # writes the variable of `debug`
    ("no-such-option", None, []),
]


def test_every_kind_of_option_is_heard_of_and_what_llvm_refuses(capfd: pytest.CaptureFixture[str]) -> None:
    def child() -> None:
        for name, text, expected in HEARD:
            events: list[DriftEvent] = []
            with watch(events.append):
                set_option(name, text)
            assert [told(each) for each in events] == expected
        with watch(events.append):
            set_option("time-passes", "x")
        [event] = events
        assert (event.text, event.refused) == ("x", True)
        assert "was set process-wide to 'x', which LLVM refused, by thread" in str(event)
        assert "time-passes" in drift()  # it counts as given

    in_child(child)
    assert "invalid value for boolean argument" in capfd.readouterr().err


# Beside contexts, threads, forks, the collector and the end of the process


@forked
def test_what_others_set_while_a_thread_is_inside_is_heard_of_and_nothing_of_contexts_and_writes() -> None:
    events: list[DriftEvent] = []
    with watch(events.append):
        with OptionContext({"unroll-count": 4}), binding.create_context() as llvm_context:
            OptionContext(unroll_count=8).bind(llvm_context)
            parse_module()
            assert unrolled_by_llvmlite() == 4
            in_threads([lambda: set_option("slp-threshold", "8")])
            assert unrolled_by_llvmlite() == 4
        write("unroll-count", 7)
        parse_module()
    assert [told(each) for each in events] == [("slp-threshold", "8")]
    assert sorted(drift()) == ["slp-threshold", "unroll-count"]


def tables() -> list[tuple[int, int]]:
    engine = attach()
    return engine.image.pointers_into([Span(engine.survey.functions.add_occurrence, 1)])


@forked
def test_detaching_ends_no_watcher_and_after_the_last_nothing_is_left() -> None:
    events: list[DriftEvent] = []
    places = [at for at, *_ in tables()]
    optctx.detach()
    before = [read_words(at, 1) for at in places]
    with watch(events.append):
        assert [read_words(at, 1) for at in places] != before
        with watch(ignore):
            pass
        optctx.detach()
        assert [read_words(at, 1) for at in places] != before
        set_option("slp-threshold", "1")
    assert [each.name for each in events] == ["slp-threshold"]
    assert [read_words(at, 1) for at in places] == before
    attach()
    with watch(ignore):
        pass
    optctx.detach()
    assert [read_words(at, 1) for at in places] == before


@forked
def test_threads_may_watch_close_and_set_options_at_once_and_each_change_is_heard_of_once() -> None:
    opened: list[optctx.Watcher] = []
    names = ["unroll-count", "slp-threshold", "inline-threshold"]

    def open_and_close() -> None:
        for _ in range(50):
            opened.append(watch(ignore))
            parse_module()
            opened.pop().close()

    def set_options(name: str) -> None:
        threading.current_thread().name = name
        for value in range(1, 50):
            set_option(name, str(value))

    heard: list[DriftEvent] = []
    with watch(heard.append):
        in_threads([open_and_close, open_and_close, *(partial(set_options, name) for name in names)])
    for name in names:
        events = [each for each in heard if each.name == name]
        assert [each.text for each in events] == list(map(str, range(1, 50)))
        assert {each.thread for each in events} == {name}


@forked
def test_a_child_of_fork_goes_on_watching_by_itself() -> None:
    events: list[DriftEvent] = []
    with watch(events.append) as watcher:

        def grandchild() -> None:
            set_option("unroll-count", "4")
            assert [told(each) for each in events] == [("unroll-count", "4")]
            watcher.close()

        in_child(grandchild)
        assert events == []
        set_option("unroll-count", "5")
        assert [told(each) for each in events] == [("unroll-count", "5")]

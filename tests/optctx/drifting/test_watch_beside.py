"""Watchers beside contexts, threads, forks, the collector and the end of the process."""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
from functools import partial
from typing import Literal

import llvmlite.binding as llvm
import pytest
from llvmlite import binding

import optctx
from optctx import DriftEvent, OptionContext, drift, watch
from optctx._native import Span, find_data_pointers, read_words
from optctx.drifting.comparison import Difference
from optctx.drifting.watch import _watchings
from optctx.engine.attach import attach
from tests.optctx.drifting.watching import ignore, told
from tests.support.alone import alone
from tests.support.ir_texts import COUNTED
from tests.support.library_code import LLVMLITE
from tests.support.processes import SECONDS, forked, in_child
from tests.support.scopes import (
    in_threads,
    meanwhile,
    parse_module,
    set_option,
    unrolled_by_llvmlite,
    write,
)

pytestmark = pytest.mark.usefixtures("attached")


@forked
def test_calls_past_llvmlite_are_seen_in_the_act_and_told_of_when_python_calls_llvm_again() -> None:
    from llvmlite.binding import ffi

    library = ctypes.CDLL(ffi.lib._name)
    seen: list[DriftEvent] = []
    with watch(seen.append) as watcher:
        library.LLVMPY_SetCommandLine(b"", b"-unroll-count=4")
        assert [told(each) for each in watcher.events] == [("unroll-count", 0, 4, True)]
        assert watcher.events[0].stack[-1].filename == __file__
        assert seen == []
        parse_module()
        assert seen == watcher.events
        in_threads([lambda: library.LLVMPY_SetCommandLine(b"", b"-unroll-count=5")])
        parse_module()
        assert len(seen) == 1  # for the thread that did it, which is gone
    assert [each.after for each in seen] == [4, 5]


@forked
def test_contexts_are_not_heard_of() -> None:
    with watch(ignore) as watcher:
        with OptionContext({"unroll-count": 4}), binding.create_context() as llvm_context:
            assert unrolled_by_llvmlite() == 4
            with OptionContext(stats=True, rng_seed=4, process_wide="exclusive"):
                parse_module()
                set_option("stats", "true")  # given already, and put back on leaving
            if attach().intercepts:
                OptionContext(unroll_count=8).bind(llvm_context)
            parse_module()
        optctx.current()
        parse_module()
    assert watcher.events == []
    with OptionContext(rng_seed=4, process_wide="exclusive"):
        watcher = watch(ignore)
    parse_module()  # it began inside, and hears nothing of what is put back
    watcher.close()
    assert watcher.events == []


@forked
def test_contexts_that_come_and_go_on_other_threads_are_not_taken_for_drift() -> None:
    def enter_and_leave() -> None:
        for seed in range(1, 150):
            with OptionContext({"rng-seed": seed, "debug-only": "x"}, process_wide="exclusive"):
                parse_module()

    def look() -> None:
        assert dict(drift()) == {}
        parse_module()

    with watch(ignore) as watcher, meanwhile(look):
        in_threads([enter_and_leave])
    assert watcher.events == []


@forked
def test_a_change_past_the_parsers_is_found_while_a_context_changes_other_options() -> None:
    with watch(ignore) as watcher, OptionContext(rng_seed=4, process_wide="exclusive"):
        write("debug-buffer-size", 7)
        write("rng-seed", 5)  # undone with the context
        parse_module()
        assert [told(each) for each in watcher.events] == [("debug-buffer-size", 0, 7, False)]
    parse_module()
    assert len(watcher.events) == 1


@forked
def test_what_others_set_while_a_thread_is_inside_is_heard_of() -> None:
    with watch(ignore) as watcher:
        with OptionContext({"unroll-count": 4}, sets=process_wide()):
            set_option("unroll-count", "8")
            assert unrolled_by_llvmlite() == (4 if attach().intercepts else 8)
        parse_module()
    [event] = watcher.events
    assert (event.after, event.exact) == (8, True)
    assert ("unroll-count" in drift()) == attach().intercepts  # else it is undone with the scope


def process_wide() -> Literal["contain", "process"]:
    """How a context sets options for the process: where threads take turns, it does so anyway."""
    return "process" if attach().intercepts else "contain"


@forked
def test_detaching_ends_no_watcher_and_after_the_last_nothing_is_left() -> None:
    places = [at for at, *_ in tables()]
    optctx.detach()
    before = [read_words(at, 1) for at in places]
    with watch(ignore) as watcher:
        assert [read_words(at, 1) for at in places] != before
        with watch(ignore):
            pass
        optctx.detach()
        assert [read_words(at, 1) for at in places] != before
        set_option("slp-threshold", "1")
    assert [each.name for each in watcher.events] == ["slp-threshold"]
    assert [read_words(at, 1) for at in places] == before
    attach()
    with watch(ignore):
        pass
    optctx.detach()
    assert [read_words(at, 1) for at in places] == before


def tables() -> list[tuple[int, int]]:
    engine = attach()
    return find_data_pointers(engine.image, [Span(engine.survey.functions.add_occurrence, 1)])


@forked
def test_threads_may_watch_close_and_set_options_at_once_and_each_change_is_heard_of_once() -> None:
    watchers: list[optctx.Watcher] = []
    names = ["unroll-count", "slp-threshold", "inline-threshold"]

    def open_and_close() -> None:
        for _ in range(50):
            watchers.append(watch(ignore))
            parse_module()
            watchers.pop().close()

    def set_options(name: str) -> None:
        threading.current_thread().name = name
        for value in range(1, 50):
            set_option(name, str(value))

    with watch(ignore) as throughout:
        in_threads([open_and_close, open_and_close, *(partial(set_options, name) for name in names)])
        assert not watchers
    for name in names:
        events = [each for each in throughout.events if each.name == name]
        assert [each.after for each in events] == list(range(1, 50))
        assert {(each.exact, each.thread) for each in events} == {(True, name)}


@forked
def test_a_child_of_fork_goes_on_watching_by_itself() -> None:
    with watch(ignore) as watcher:

        def grandchild() -> None:
            set_option("unroll-count", "4")
            assert [told(each) for each in watcher.events] == [("unroll-count", 0, 4, True)]
            watcher.close()

        in_child(grandchild)
        assert watcher.events == []
        set_option("unroll-count", "5")
        assert [told(each) for each in watcher.events] == [("unroll-count", 0, 5, True)]


@forked
def test_what_the_collector_closes_in_the_middle_of_a_parse_tells_nobody() -> None:
    class Closes:
        """Calls LLVM when it is collected, as llvmlite's objects do."""

        def __del__(self) -> None:
            parse_module()
            collected.append(len(heard))

    collected: list[int] = []
    heard: list[DriftEvent] = []

    def at_work(*_: object) -> None:
        if len(_watchings[LLVMLITE]._reports) == 1 and not collected:
            Closes()

    with watch(heard.append):
        sys.setprofile(at_work)
        set_option("filter-print-funcs", "a,b")
        sys.setprofile(None)
        assert collected == [0]  # between the two values, with the first not told yet
        assert [each.after for each in heard] == [["a"], ["a", "b"]]


@forked
def test_a_change_is_told_once_whenever_something_calls_llvm_in_between() -> None:
    """The collector, or another thread: at every step of taking note that LLVM was given a value."""

    def step(*_: object) -> None:
        steps.append(None)
        if len(steps) == last:
            parse_module()

    steps: list[None] = []
    with watch(ignore) as watcher:
        _watchings[LLVMLITE]._allowance.take = lambda: True  # type: ignore[method-assign]
        for last in itertools.count(1):
            steps.clear()
            sys.setprofile(step)
            set_option("unroll-count", str(last))
            sys.setprofile(None)
            if len(steps) < last:
                break
    assert last > 100
    assert [told(each) for each in watcher.events] == [
        ("unroll-count", value - 1, value, True) for value in range(1, last + 1)
    ]


@forked
def test_a_write_is_told_though_a_parse_of_the_option_begins_while_it_is_being_found() -> None:
    def find() -> list[Difference]:
        comparison.differences = differences  # type: ignore[method-assign, union-attr]
        found = differences()
        in_threads([partial(watching.begins, attach().options["unroll-count"].address)])
        return found

    with watch(ignore) as watcher:
        watching = _watchings[LLVMLITE]
        watching._allowance.take = lambda: True  # type: ignore[method-assign]
        comparison = watching._comparison
        assert comparison is not None
        differences = comparison.differences
        comparison.differences = find  # type: ignore[method-assign]
        write("unroll-count", 9)
        parse_module()
    assert [told(each) for each in watcher.events] == [("unroll-count", 0, 9, False)]


kept: list[object] = []  # to the end of the process


@alone
def test_a_process_ends_well_with_watchers_and_threads_at_work() -> None:
    def work() -> None:
        for value in itertools.count():
            llvm.set_option("", f"-unroll-count={value % 9}")

    started = threading.Event()
    kept.append(optctx.watch(lambda event: started.set()))
    kept.append(llvm.parse_assembly(COUNTED))
    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()
    started.wait(SECONDS)

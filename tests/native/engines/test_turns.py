"""Where no instruction is redirected, threads with different values take turns at LLVM's storage."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import resource
import signal
import sys
import textwrap
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any

import pytest
from llvmlite import binding

from optctx import OptionContext, OptionValueError, ScopeError, contained, current, registry, tool
from optctx._native import run_counted
from optctx.engine.attach import attach
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, Build
from tests.support.library_code import LLVMLITE
from tests.support.processes import SECONDS, output_of, run_python, wait_until_asleep
from tests.support.scopes import (
    both,
    in_threads,
    inside_elsewhere,
    process_state,
    scopes_become,
    unrolled,
    unrolled_by_llvmlite,
    waiting,
)


def in_turns(test: Callable[[], None]) -> Callable[[], None]:
    """Run a test in a process of its own, where threads take turns, and look whether all is as before."""

    @functools.wraps(test)
    def checked() -> None:
        before = process_state()
        test()
        assert scopes_become(0)
        assert process_state() == before

    return alone(OPTCTX_ENGINE="exclusive")(checked)


@in_turns
def test_threads_with_different_values_take_turns_and_all_get_theirs() -> None:
    inside = []

    def work(count: int) -> None:
        context = OptionContext(unroll_count=count, base="defaults")
        for _ in range(30):
            with context:
                inside.append(count)
                assert set(inside) == {count}, inside
                assert unrolled() == count
                inside.remove(count)

    in_threads([partial(work, count) for count in (2, 3, 4, 5)])


@in_turns
def test_what_is_set_in_a_scope_that_only_contains_ends_with_it_also_inside_equal_values() -> None:
    """Other scopes with equal values share what is set inside; these have a turn of their own."""

    def set_inside(own: OptionContext, value: int, around: int) -> None:
        with own:
            binding.set_option("", f"-unroll-count={value}")
            assert unrolled() == unrolled_by_llvmlite() == value
        assert unrolled() == around

    with OptionContext(unroll_count=2):
        set_inside(contained(), 3, 2)
        with contained() as same:
            set_inside(contained(), 4, 2)
            set_inside(same, 5, 2)
        with tool("-unroll-count=3") as outer:
            set_inside(tool("-unroll-count=3"), 4, 3)
            set_inside(outer, 5, 3)

    begun = threading.Barrier(3, timeout=SECONDS)

    def work(value: int) -> None:
        begun.wait()
        for _ in range(20):
            set_inside(contained(), value, 1)

    in_threads([partial(work, value) for value in (2, 3, 4)])


@in_turns
def test_threads_with_the_same_values_are_inside_at_once_and_scopes_in_there_never_block_each_other() -> None:
    all_inside = threading.Barrier(3, timeout=SECONDS)

    def work(count: int) -> None:
        outer = OptionContext(inline_threshold=1, base="defaults")  # each its own, with the same values
        with outer:
            all_inside.wait()  # and all of them want another scope now
            for _ in range(20):
                with OptionContext(unroll_count=count) as inner:
                    assert (inner["inline-threshold"], unrolled()) == (1, count)
                    with outer:
                        assert unrolled() == 1
                    assert current() is inner
                    assert unrolled() == count
                assert current() is outer
                assert unrolled() == 1

    in_threads([partial(work, count) for count in (2, 3, 4)])


@in_turns
def test_a_scope_inside_another_is_not_shared_also_with_equal_values() -> None:
    """Its thread goes back to the outer values when it leaves it, whoever else is inside."""
    inner = OptionContext(unroll_count=4, base="defaults")
    seen: list[int] = []
    with OptionContext(unroll_count=2, base="defaults"):
        with inner:
            other = waiting(lambda: seen.append(inner.run(unrolled)))
            assert seen == []
        assert unrolled() == 2
    other.join(SECONDS)
    assert seen == [4]


@alone(OPTCTX_ENGINE="exclusive")
def test_first_come_first_served_and_compilations_outside_wait_too() -> None:
    order = []

    def enter(count: int) -> None:
        with OptionContext(unroll_count=count, base="defaults"):
            order.append(count)

    def compile() -> None:
        run_counted(LLVMLITE, order.append, 1)  # as `run_passes` does

    with OptionContext(unroll_count=2):
        threads = [waiting(work) for work in (lambda: enter(3), compile, lambda: enter(4), lambda: enter(3))]
        assert order == []
    for thread in threads:
        thread.join(SECONDS)
    assert order == [3, 1, 4, 3]


@in_turns
def test_a_signal_handler_can_end_the_wait_and_the_line_goes_on() -> None:
    two, three, four = (OptionContext(unroll_count=count) for count in (2, 3, 4))
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    seen: list[int] = []

    def interrupt() -> None:
        wait_until_asleep(os.getpid())  # the main thread
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    def wait(enter: Callable[[Callable[[], int]], int]) -> None:
        threading.Thread(target=interrupt).start()
        enter(unrolled)

    for enter in (three.run, lambda work: work()):
        with inside_elsewhere(two):
            late = waiting(lambda: seen.append(four.run(unrolled)))
            with pytest.raises(KeyboardInterrupt):
                wait(enter)
            assert late.is_alive()
        late.join(SECONDS)
        assert three.run(unrolled) == 3
    assert seen == [4, 4]


@in_turns
def test_a_signal_handler_that_runs_while_its_thread_waits_has_its_turn_in_its_place() -> None:
    two, three, four = (OptionContext(unroll_count=count) for count in (2, 3, 4))
    seen: list[tuple[str, int]] = []
    leave = threading.Event()

    def enter(*_: object) -> None:
        threading.Timer(0.1, leave.set).start()
        seen.append(("handler", four.run(unrolled)))

    def hold() -> None:
        with two:
            leave.wait(SECONDS)

    signal.signal(signal.SIGALRM, enter)
    holder = waiting(hold)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    seen.append(("thread", three.run(unrolled)))
    holder.join(SECONDS)
    assert seen == [("handler", 4), ("thread", 3)]


@alone(OPTCTX_ENGINE="exclusive")
def test_what_is_process_wide_is_not_what_another_thread_is_inside_of() -> None:
    before = process_state()
    with inside_elsewhere(OptionContext(unroll_count=4, internalize_public_api_list="f", base="defaults")):
        assert process_state() == before
        assert current()["unroll-count"] == 0
        assert current() == OptionContext(base="defaults")
        context = OptionContext(inline_threshold=3)  # values are judged while others are inside
        assert (context["unroll-count"], context["internalize-public-api-list"]) == (0, [])
    with context:
        assert unrolled() == 1


@in_turns
def test_what_is_set_process_wide_inside_is_undone_with_the_scope() -> None:
    context = OptionContext(internalize_public_api_list=["f"], unroll_count=2, base="defaults")
    for _ in range(100):
        with context:
            for text in (
                "-unroll-count=5",
                "-internalize-public-api-list=g,h,i",
                "-force-attribute=f:cold",
                "-asan-memory-access-callback-prefix=" + "x" * 99,
                "-pass-remarks=x",
            ):
                binding.set_option("", text)
            assert unrolled() == 5
        assert unrolled() == 1
    with context:
        assert unrolled() == 2
    assert context["internalize-public-api-list"] == ["f"]


@alone(OPTCTX_ENGINE="exclusive")
def test_bad_values_print_nothing() -> None:  # `alone` lets nothing be printed
    bad = {"unroll-count": "x", "x86-asm-syntax": "z", "pass-remarks": "[", "x86-align-branch": "jcc+no"}

    def refuse() -> None:
        for name, text in bad.items():
            with pytest.raises(OptionValueError) as caught:
                OptionContext({name: text})
            assert "LLVM says" in str(caught.value)

    refuse()
    with OptionContext(unroll_count=3):
        refuse()
        assert unrolled() == 3


@in_turns
def test_options_that_cannot_be_scoped_go_with_the_turn() -> None:

    def exclusive(**named: Any) -> OptionContext:
        return OptionContext(process_wide="exclusive", base="defaults", **named)

    def work(number: int) -> None:
        for _ in range(20):
            with exclusive(rng_seed=number, unroll_count=number):
                assert (registry()["rng-seed"].value, unrolled()) == (number, number)
                with OptionContext(unroll_count=9):
                    assert (registry()["rng-seed"].value, unrolled()) == (number, 9)
                with pytest.raises(ScopeError) as caught, exclusive(rng_seed=number + 1):
                    pass
                assert f"-rng-seed={number}" in str(caught.value)
                assert (registry()["rng-seed"].value, unrolled()) == (number, number)
            with pytest.raises(OptionValueError, match="value invalid"), exclusive(rng_seed="abc"):
                pass

    in_threads([lambda: work(2), lambda: work(3)])


@in_turns
def test_changes_of_the_process_are_undone_where_the_scopes_values_cannot_be_had() -> None:
    context = OptionContext(rng_seed=7, unroll_count=4, process_wide="exclusive")
    elements = ctypes.c_size_t.from_address(attach().options["spirv-ext"].place.address + 0x28)
    elements.value += 1  # as while another thread adds one
    with pytest.raises(RuntimeError, match="LLVM keeps changing a std::set"):
        context.run(int)
    elements.value -= 1
    assert registry()["rng-seed"].value == 0
    with context:
        assert (registry()["rng-seed"].value, unrolled()) == (7, 4)


def test_a_thread_that_ends_inside_counts_until_its_values_are_undone() -> None:
    """A fork holds the locks of optctx, and the thread that ends waits for one of them to undo its values."""
    said = run_python(
        """
        import ctypes, os, sys, threading
        os.environ["OPTCTX_ENGINE"] = "exclusive"
        held, seen = threading.Event(), threading.Event()

        @ctypes.CFUNCTYPE(None)
        def wait():
            held.set()
            seen.wait()

        # What is registered before optctx's own handlers runs after these have taken the locks.
        libc = ctypes.CDLL(None)
        libc.__register_atfork(wait, None, libc._exit, None)

        from optctx import OptionContext, registry
        from optctx._native import active_scopes
        from tests.support.scopes import scopes_become
        from tests.support.processes import wait_until_asleep

        entered, end = threading.Event(), threading.Event()

        def work():
            OptionContext(rng_seed=3, process_wide="exclusive").__enter__()
            entered.set()
            end.wait()

        thread, fork = threading.Thread(target=work), threading.Thread(target=libc.fork)
        thread.start()
        entered.wait()
        fork.start()
        held.wait()
        end.set()
        # What it leaves, it leaves after its end for Python. From 3.14 on, `is_alive` waits for the rest.
        while thread.ident in sys._current_frames():
            pass
        wait_until_asleep(thread.native_id)
        print(active_scopes())
        seen.set()
        print(scopes_become(0), registry()["rng-seed"].value)
        """
    )
    assert said == "1\nTrue 0\n"


def test_scopes_are_left_where_there_is_no_memory(build: Build) -> None:
    """An exception there would end the process."""
    library = build("no_memory.cpp", *SHARED)
    script = """
        import ctypes, sys
        from optctx import OptionContext, registry

        exhaust = ctypes.CDLL(sys.argv[1]).exhaust
        outer = OptionContext(unroll_count=2, rng_seed=3, process_wide="exclusive")
        inner = OptionContext(unroll_count=4)

        def leave(context):
            exhaust(True)
            context.__exit__()
            exhaust(False)

        with outer, inner:
            pass  # what a thread needs once
        outer.__enter__()
        inner.__enter__()
        leave(inner)
        print(registry()["rng-seed"].value)
        leave(outer)
        print(registry()["rng-seed"].value)
    """
    preloaded = f"{os.environ.get('LD_PRELOAD', '')} {library}".strip()
    own = {**os.environ, "LD_PRELOAD": preloaded, "OPTCTX_ENGINE": "exclusive"}
    said = output_of(sys.executable, "-c", textwrap.dedent(script), library, env=own)
    assert said == "3\n0\n"


# Scopes that were carried along (tasks.md)


@in_turns
def test_code_carried_to_another_thread_has_its_turn_for_the_length_of_a_call() -> None:

    def check() -> None:
        assert both() == (1, 1)
        assert inside.run(lambda: (both(), current())) == ((4, 4), four)
        assert inside.run(OptionContext(unroll_count=2).run, both) == (2, 2)
        assert both() == (1, 1)

    outside, four, eight = copy_context(), OptionContext(unroll_count=4), OptionContext(unroll_count=8)
    with four:
        inside = copy_context()
    in_threads([check])
    check()
    with eight:
        assert (inside.run(both), outside.run(both), both()) == ((4, 4), (1, 1), (8, 8))


@in_turns
def test_a_scope_that_is_left_open_in_a_call_comes_on_top_of_what_was_beneath() -> None:

    def call() -> None:
        with binding.ffi.lib._lock:
            context.__enter__()

    two, context, eight = (OptionContext(unroll_count=count) for count in (2, 4, 8))
    with two:
        copy = copy_context()
    for outer in (eight, two, context):
        with outer:
            copy.run(call)
            assert copy.run(both) == (4, 4)
            copy.run(context.__exit__)
            assert copy.run(both) == (2, 2)
            assert both()[0] == outer["unroll-count"]
        assert unrolled() == 1
    copy.run(call)
    assert copy.run(both) == (4, 4)
    copy.run(context.__exit__)
    in_threads([lambda: eight.run(both)])
    assert both() == (1, 1)


@in_turns
def test_a_carried_call_that_would_have_to_wait_is_made_without_its_scope_and_reported_once() -> None:
    told: list[str] = []

    def others_turn() -> None:
        with OptionContext(unroll_count=8, base="defaults"):
            entered.set()
            assert done.wait(SECONDS)

    def carried() -> None:
        assert entered.wait(SECONDS)
        try:
            assert [copy.run(unrolled_by_llvmlite) for _ in range(2)] == [8, 8]
        finally:
            done.set()
        assert copy.run(unrolled) == 4  # waits

    sys.unraisablehook = lambda problem: told.append(str(problem.exc_value))
    entered, done = threading.Event(), threading.Event()
    with OptionContext(unroll_count=4):
        copy = copy_context()
    in_threads([others_turn, carried])
    assert copy.run(unrolled_by_llvmlite) == 4
    assert len(told) == 1, told
    assert "this call cannot wait for the turn" in told[0]


@in_turns
def test_a_carried_call_of_the_thread_that_has_the_turn_goes_ahead_of_those_that_wait() -> None:
    """They wait for it to end."""
    with OptionContext(unroll_count=4):
        copy = copy_context()
    with OptionContext(unroll_count=8):
        other = waiting(partial(OptionContext(unroll_count=2).run, unrolled))
        assert copy.run(unrolled_by_llvmlite) == 4
    other.join(SECONDS)


@in_turns
def test_what_is_set_in_a_scope_with_others_inside_is_freed_with_it() -> None:
    """While a thread is in an inner one, the outer one's values are kept for it."""

    def memory() -> int:
        return int(pathlib.Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()

    def work() -> None:
        with outer:
            binding.set_option("", "-internalize-public-api-list=" + "," * 60_000)  # 0.7 MB
            with inner:
                pass

    outer, inner = OptionContext(unroll_count=2), OptionContext(unroll_count=4)
    work()
    before = memory()
    for _ in range(20):
        work()
    assert memory() - before < 7 << 20


@in_turns
def test_a_copy_of_a_scope_with_process_wide_changes_has_them_with_its_turn() -> None:

    def value() -> object:
        with binding.ffi.lib._lock:
            return registry()["rng-seed"].value

    with OptionContext(rng_seed=7, process_wide="exclusive"):
        copy = copy_context()
        assert value() == 7
    assert (copy.run(value), value()) == (7, 0)
    problems: list[str] = []
    sys.unraisablehook = lambda problem: problems.append(str(problem.exc_value))
    with OptionContext(rng_seed=9, process_wide="exclusive"):
        assert (copy.run(value), value()) == (9, 9)
        assert copy.run(value) == 9
    [problem] = problems
    assert "this thread is inside a context with other process-wide values (-rng-seed=9)" in problem

"""Threads that wait at the gate of process-wide changes: deadlocks that are told, and signal handlers."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest
from llvmlite import binding

from optctx import DeadlockWarning, OptionContext, ScopeError, run_passes
from optctx._native import inside
from optctx.context import callbacks
from optctx.locks import Rank, lock_held_by_fork, lock_left_behind
from tests.support.alone import alone
from tests.support.forking import fork
from tests.support.interrupts import state
from tests.support.ir_texts import COUNTED
from tests.support.processes import SECONDS, wait_until_asleep
from tests.support.runs import UNROLL
from tests.support.scopes import four, scopes_become

ready, leave = threading.Event(), threading.Event()


def make_contexts() -> tuple[OptionContext, OptionContext, OptionContext]:
    """Two that change the process, each another option, and a plain one."""
    exclusive = OptionContext({"stats": True}, base="defaults", process_wide="exclusive")
    other = OptionContext({"opt-bisect-limit": 5}, base="defaults", process_wide="exclusive")
    return exclusive, other, four()


def hold(context: OptionContext) -> threading.Thread:
    """A thread that is inside a context until `leave` is set."""
    ready.clear()
    leave.clear()
    thread = threading.Thread(target=holding, args=(context,), name="the holder")
    thread.start()
    assert ready.wait(SECONDS)
    return thread


def holding(context: OptionContext) -> None:
    with context:
        ready.set()
        while not leave.is_set():
            time.sleep(0.001)


def end(*threads: threading.Thread) -> None:
    leave.set()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()


@alone
def test_a_thread_that_an_exclusive_one_waits_for_says_so() -> None:
    (exclusive, _other, plain), before = make_contexts(), state()
    callbacks._PATIENCE = 0.2
    told: list[tuple[object, ...]] = []
    said = threading.Event()
    here = "test_a_thread_that_an_exclusive_one_waits_for_says_so"

    def show(*message: object) -> None:
        told.append(message)
        threading.Timer(0.5, said.set).start()  # in which it could tell twice more

    def enter() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show  # type: ignore[assignment]
            for _ in range(2):
                with plain:
                    pass

    thread = threading.Thread(target=enter, name="the late one")
    with exclusive:
        thread.start()
        assert said.wait(SECONDS)
        assert thread.is_alive()
    end(thread)
    [(message, category, file, *_)] = told
    assert category is DeadlockWarning
    text = str(message)
    assert text.startswith("the late one waits to enter a context until MainThread has left one"), text
    assert f"which waits itself in {here} (" in text
    assert file == __file__
    assert state() == before


@alone
def test_a_thread_that_waits_keeps_no_variables_of_others() -> None:
    (exclusive, _other, plain), looked = make_contexts(), threading.Event()
    waits = callbacks._waits

    def look(frame: FrameType) -> bool:
        looked.set()
        return waits(frame)

    def beside() -> weakref.ref[threading.Event]:
        variable = threading.Event()
        assert looked.wait(SECONDS)
        return weakref.ref(variable)

    callbacks._waits = look
    gc.disable()
    holder = hold(exclusive)
    late = threading.Thread(target=plain.run, args=(int,))
    late.start()
    variable = beside()
    looked.clear()
    assert looked.wait(SECONDS)  # the first look is over
    kept = variable()
    end(holder, late)
    assert kept is None


@alone
def test_none_is_told_of_that_works_or_waits_for_a_moment() -> None:
    (exclusive, _other, plain), before = make_contexts(), state()
    callbacks._PATIENCE = 0.3

    def enter() -> None:
        with plain:  # warnings are errors
            entered.append(True)

    entered: list[bool] = []
    thread = threading.Thread(target=enter)
    with exclusive:
        thread.start()
        end_at = time.monotonic() + 0.7
        while time.monotonic() < end_at:
            sum(range(1000))
    end(thread)
    callbacks._PATIENCE = SECONDS
    for _ in range(3):  # each time for less than it takes
        thread = threading.Thread(target=enter)
        with exclusive:
            thread.start()
            thread.join(0.1)
        end(thread)
    assert len(entered) == 4
    assert state() == before


alarm = partial(signal.pthread_kill, threading.get_ident(), signal.SIGALRM)  # sent to this thread


def when_this_thread_waits(*steps: Callable[[], object]) -> threading.Thread:
    """A thread that takes each step once this one has gone to sleep."""
    this = threading.get_native_id()

    def take() -> None:
        for step in steps:
            wait_until_asleep(this)
            step()

    thread = threading.Thread(target=take)
    thread.start()
    return thread


def entering(*contexts: OptionContext) -> tuple[list[threading.Thread], list[int]]:
    """Threads that enter a context each, and what they add a 0 to then."""
    entered: list[int] = []
    threads = [threading.Thread(target=lambda each=each: entered.append(each.run(int))) for each in contexts]
    return threads, entered


@alone
def test_a_signal_handler_can_end_the_wait_and_the_line_goes_on() -> None:
    (exclusive, other, plain), before = make_contexts(), state()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for held, wanted in ((exclusive, plain), (exclusive, other), (plain, exclusive)):
        late, entered = entering(plain, other, plain)
        holder = hold(held)
        sender = when_this_thread_waits(*(each.start for each in late), alarm)
        with pytest.raises(KeyboardInterrupt):
            wanted.run(int)
        assert holder.is_alive()
        assert scopes_become(1)
        end(holder, sender, *late)
        assert entered == [0] * 3
        wanted.run(int)
        assert state() == before


@alone
def test_a_signal_handler_that_runs_while_its_thread_waits_enters_in_its_place() -> None:
    """Behind the wait that it has interrupted it would wait for itself."""
    (exclusive, other, plain), before = make_contexts(), state()
    inside: list[int] = []

    def handler(*_: object) -> None:
        inside.extend(context.run(int) for context in (plain, other, exclusive, plain))

    signal.signal(signal.SIGALRM, handler)
    for held, wanted in ((exclusive, plain), (exclusive, other), (plain, exclusive)):
        late, entered = entering(plain, other)
        inside.clear()
        holder = hold(held)
        sender = when_this_thread_waits(*(each.start for each in late), alarm, leave.set)
        wanted.run(int)
        end(holder, sender, *late)
        assert inside == [0] * 4
        assert entered == [0] * 2
        assert state() == before


@alone
def test_a_signal_handler_may_stay_inside_or_leave_what_its_thread_is_inside_of() -> None:
    (exclusive, other, plain), before = make_contexts(), state()
    for held, wanted, stays in (
        (exclusive, plain, plain),
        (plain, exclusive, plain),
        (plain, exclusive, exclusive),
        (exclusive, other, plain),
        (exclusive, plain, other),
        (plain, exclusive, other),
    ):
        signal.signal(signal.SIGALRM, lambda *_, stays=stays: stays.__enter__())
        holder = hold(held)
        sender = when_this_thread_waits(alarm, leave.set)
        if (wanted, stays) == (exclusive, other):
            with pytest.raises(ScopeError, match="this thread is inside a context with other process-wide"):
                wanted.run(int)
        else:
            wanted.run(int)
        assert leave.is_set()
        stays.__exit__(None, None, None)
        end(holder, sender)
        assert state() == before
    plain.__enter__()
    signal.signal(signal.SIGALRM, lambda *_: plain.__exit__(None, None, None))
    holder = hold(plain)
    sender = when_this_thread_waits(alarm, leave.set)
    exclusive.run(int)
    assert leave.is_set()  # the other thread counts, though this one is not inside any more
    end(holder, sender)
    assert state() == before


@alone
def test_where_a_signal_handler_forks_while_its_thread_waits_the_child_goes_on_as_well() -> None:
    (exclusive, other, plain), before = make_contexts(), state()
    forked: list[int] = []

    def on_alarm(*_: object) -> None:
        forked.append(fork())
        if forked == [0]:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(int(SECONDS))

    signal.signal(signal.SIGALRM, on_alarm)
    for held, wanted in ((exclusive, plain), (exclusive, other), (plain, exclusive)):
        holder = hold(held)
        sender = when_this_thread_waits(alarm, leave.set)
        wanted.run(int)
        if forked == [0]:
            os._exit([each.run(int) for each in (plain, exclusive, other)] != [0] * 3)
        assert os.waitpid(forked.pop(), 0)[1] == 0
        end(holder, sender)
        assert state() == before


@alone
def test_what_interrupts_optctx_where_it_holds_a_lock_does_not_wait_for_those_who_may_need_it() -> None:
    """The thread inside an exclusive context wants the lock before it leaves: neither would go on."""
    (exclusive, _other, plain), before = make_contexts(), state()
    lock, interrupted = lock_held_by_fork(Rank.STORE), threading.Event()
    module = binding.parse_assembly(COUNTED, binding.create_context())
    refused: list[str] = []

    def hold_and_look() -> None:
        with exclusive:
            ready.set()
            assert interrupted.wait(SECONDS)
            inside(lock, bool)

    def interrupt() -> None:
        interrupted.set()
        for work in (lambda: plain.run(int), lambda: run_passes(module, UNROLL)):
            with pytest.raises(ScopeError) as refusal:
                work()
            refused.append(str(refusal.value))

    holder = threading.Thread(target=hold_and_look)
    holder.start()
    assert ready.wait(SECONDS)
    inside(lock, interrupt)
    end(holder)
    beginnings = "cannot enter OptionContext(", "cannot compile outside every scope: "
    for text, beginning in zip(refused, beginnings, strict=True):
        assert text.startswith(beginning)
        assert "a lock of optctx's, which this thread holds" in text
    assert plain.run(int) == 0
    assert state() == before


@alone
def test_neither_does_what_interrupts_any_other_step_under_a_lock() -> None:
    exclusive, _other, plain = make_contexts()
    locks = lock_held_by_fork(Rank.STORE), lock_left_behind()  # such as that of a cache in a folder
    holder = hold(exclusive)
    for lock in locks:
        with lock, pytest.raises(ScopeError, match="a lock of optctx's"):
            plain.run(int)
    with locks[0], locks[1]:
        assert exclusive.run(int) == 0  # shares what is in force, without a wait
    [late], entered = entering(plain)
    late.start()
    assert late.native_id is not None
    wait_until_asleep(late.native_id)
    with locks[0], pytest.raises(ScopeError, match="a lock of optctx's"):
        exclusive.run(int)  # behind the one that waits
    end(holder, late)
    assert entered == [0]
    with locks[0], locks[1]:
        assert plain.run(int) == 0
    with exclusive, locks[0], locks[1]:
        assert exclusive.run(int) == plain.run(int) == 0

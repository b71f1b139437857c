"""Threads that wait at the gate of process-wide changes: deadlocks that are told, and signal handlers."""

from __future__ import annotations

import signal
import threading
import time
import warnings

import pytest

from optctx import DeadlockWarning, OptionContext
from optctx.context import callbacks
from tests.support.alone import alone
from tests.support.interrupts import state
from tests.support.scopes import four, scopes_become

pytestmark = pytest.mark.redirected  # a thread that waits for its turn does not wait at the gate

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
    assert ready.wait(60)
    return thread


def holding(context: OptionContext) -> None:
    with context:
        ready.set()
        while not leave.is_set():
            time.sleep(0.001)


def end(*threads: threading.Thread) -> None:
    leave.set()
    for thread in threads:
        thread.join(60)
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
        assert said.wait(14)
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
    callbacks._PATIENCE = 1.0
    for _ in range(3):  # each time for less than it takes
        thread = threading.Thread(target=enter)
        with exclusive:
            thread.start()
            thread.join(0.1)
        end(thread)
    assert len(entered) == 4
    assert state() == before


@alone
def test_a_signal_handler_can_end_the_wait_and_the_line_goes_on() -> None:
    (exclusive, other, plain), before = make_contexts(), state()

    class InterruptError(Exception):
        pass

    def raise_it(*_: object) -> None:
        raise InterruptError

    signal.signal(signal.SIGALRM, raise_it)
    behind: list[int] = []
    for held, wanted in ((exclusive, plain), (exclusive, other), (plain, exclusive)):
        holder = hold(held)
        behind.clear()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        contexts = (plain, other, plain)
        late = [threading.Thread(target=lambda each=each: behind.append(each.run(int))) for each in contexts]
        try:
            for thread in late:
                thread.start()
            wanted.run(int)
        except InterruptError:
            pass
        else:
            raise AssertionError("entered, or not interrupted")
        assert holder.is_alive()
        assert scopes_become(1)
        end(holder, *late)
        assert behind == [0, 0, 0]
        wanted.run(int)
        assert state() == before


@alone
def test_a_signal_handler_that_runs_while_its_thread_waits_enters_in_its_place() -> None:
    """Behind the wait that it has interrupted it would wait for itself."""
    (exclusive, other, plain), before = make_contexts(), state()
    entered: list[int] = []
    behind: list[int] = []

    def handler(*_: object) -> None:
        entered.extend(context.run(int) for context in (plain, other, exclusive, plain))

    signal.signal(signal.SIGALRM, handler)
    for held, wanted in ((exclusive, plain), (exclusive, other), (plain, exclusive)):
        entered.clear()
        behind.clear()
        holder = hold(held)
        contexts = (plain, other)
        late = [threading.Thread(target=lambda each=each: behind.append(each.run(int))) for each in contexts]
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        ending = threading.Timer(0.2, leave.set)
        ending.start()
        with wanted:
            for thread in late:
                thread.start()
        end(holder, ending, *late)
        assert entered == [0] * 4
        assert behind == [0] * 2
        assert state() == before

"""Threads that wait at the gate of process-wide changes: deadlocks that are told, and signal handlers."""

from __future__ import annotations

from support import run_python

WAITING = """
    import signal, threading, time, warnings
    from interrupts import state
    from optctx import DeadlockWarning, OptionContext, ScopeError
    from optctx.context import waiting
    from support import four, scopes_become

    exclusive = OptionContext({"stats": True}, base="defaults", process_wide="exclusive")
    other = OptionContext({"opt-bisect-limit": 5}, base="defaults", process_wide="exclusive")
    plain, before = four(), state()
    ready, leave = threading.Event(), threading.Event()

    def hold(context=exclusive):
        ready.clear()
        leave.clear()
        thread = threading.Thread(target=holding, args=(context,), name="the holder")
        thread.start()
        assert ready.wait(60)
        return thread

    def holding(context):
        with context:
            ready.set()
            while not leave.is_set():
                time.sleep(0.001)

    def end(*threads):
        leave.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
"""


def test_a_thread_that_an_exclusive_one_waits_for_says_so() -> None:
    run_python(f"""{WAITING}
    waiting._PATIENCE = 0.2
    told = []

    def enter():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for _ in range(2):
                with plain:
                    pass
        told.extend(found)

    thread = threading.Thread(target=enter, name="the late one")
    with exclusive:
        thread.start()
        thread.join(3)
        assert thread.is_alive()
    end(thread)
    [warning] = told
    assert warning.category is DeadlockWarning
    text = str(warning.message)
    assert text.startswith("the late one waits to enter a context until MainThread has left one"), text
    assert "which waits itself in <module> (" in text
    assert warning.filename == "<string>"
    assert state() == before
    """)


def test_none_is_told_of_that_works_or_waits_for_a_moment() -> None:
    run_python(f"""{WAITING}
    waiting._PATIENCE = 1.0

    def enter():
        with plain:  # warnings are errors
            entered.append(True)

    entered, works = [], lambda: sum(range(1000))
    thread = threading.Thread(target=enter)
    with exclusive:
        thread.start()
        end_at = time.monotonic() + 2
        while time.monotonic() < end_at:
            works()
    end(thread)
    for _ in range(8):  # each time for less than it takes
        thread = threading.Thread(target=enter)
        with exclusive:
            thread.start()
            thread.join(0.1)
        end(thread)
    assert len(entered) == 9 and state() == before
    """)


def test_a_signal_handler_can_end_the_wait_and_the_line_goes_on() -> None:
    run_python(f"""{WAITING}
    class Interrupt(Exception):
        pass

    def raise_it(*_):
        raise Interrupt

    signal.signal(signal.SIGALRM, raise_it)
    for held, wanted in ((exclusive, plain), (exclusive, other), (plain, exclusive)):
        holder = hold(held)
        behind = []
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        contexts = (plain, other, plain)
        late = [threading.Thread(target=lambda each=each: behind.append(each.run(int))) for each in contexts]
        try:
            for thread in late:
                thread.start()
            wanted.run(int)
        except Interrupt:
            pass
        else:
            raise SystemError("entered, or not interrupted")
        assert holder.is_alive() and scopes_become(1)
        end(holder, *late)
        assert behind == [0, 0, 0]
        wanted.run(int)
        assert state() == before
    """)


def test_a_signal_handler_that_runs_while_its_thread_waits_enters_in_its_place() -> None:
    """Behind the wait that it has interrupted it would wait for itself."""
    run_python(f"""{WAITING}
    for held, wanted in ((exclusive, plain), (exclusive, other), (plain, exclusive)):
        entered = []

        def handler(*_):
            entered.extend(context.run(int) for context in (plain, other, exclusive, plain))

        signal.signal(signal.SIGALRM, handler)
        holder = hold(held)
        behind = []
        contexts = (plain, other)
        late = [threading.Thread(target=lambda each=each: behind.append(each.run(int))) for each in contexts]
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        ending = threading.Timer(0.5, leave.set)
        ending.start()
        with wanted:
            for thread in late:
                thread.start()
        end(holder, ending, *late)
        assert entered == [0] * 4 and behind == [0] * 2
        assert state() == before
    """)

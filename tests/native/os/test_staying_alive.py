"""Forks, shutdown, signals and long use: nothing crashes, hangs or grows."""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import GROWTH, peak_kilobytes
from support import run_python

from optctx import OptionContext


@pytest.mark.redirected
def test_a_million_entries_do_not_grow() -> None:
    context = OptionContext(unroll_count=3)

    def enter(times: int) -> None:
        for _ in range(times):
            with context:
                pass

    enter(1000)
    before = peak_kilobytes()
    enter(1_000_000)
    assert peak_kilobytes() - before < GROWTH


def test_a_hundred_thousand_contexts_made_and_dropped_do_not_grow() -> None:
    def make(times: int) -> None:
        for number in range(times):
            with OptionContext(unroll_count=number, inline_threshold=-number, base="defaults"):
                pass

    make(1000)
    before = peak_kilobytes()
    make(100_000)
    assert peak_kilobytes() - before < GROWTH


FORK = """
    import os, threading
    from optctx import OptionContext, current, info, registry
    from optctx.fresh import Job, compile_job
    from support import COUNTED, X86, in_child, unrolled
"""


def test_a_child_of_fork_is_in_the_scope_that_its_parent_was_in() -> None:
    run_python(
        FORK
        + """
    def child():
        assert (current()["unroll-count"], unrolled()) == (3, 3)
        context.__exit__()
        assert (current()["unroll-count"], unrolled()) == (0, 1)
        with OptionContext(unroll_count=4):
            assert unrolled() == 4

    with OptionContext(unroll_count=3) as context:
        in_child(child)
        assert unrolled() == 3
    """
    )


def test_a_child_of_fork_does_not_wait_for_threads_that_it_does_not_have() -> None:
    run_python(
        FORK
        + """
    inside, leave = threading.Event(), threading.Event()

    def other():
        with OptionContext(unroll_count=2):
            inside.set()
            leave.wait(60)

    def child():
        assert info()["active_scopes"] == 0
        with OptionContext(rng_seed=7, process_wide="exclusive"):
            assert registry()["rng-seed"].value == 7
        assert registry()["rng-seed"].value == 0

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(60)
    in_child(child)
    leave.set()
    thread.join()
    """
    )


def test_what_another_thread_changed_process_wide_is_undone_in_a_child_of_fork() -> None:
    run_python(
        FORK
        + """
    inside, leave = threading.Event(), threading.Event()

    def other():
        with OptionContext(rng_seed=7, process_wide="exclusive"):
            inside.set()
            leave.wait(60)

    def child():
        assert registry()["rng-seed"].value == 0
        with OptionContext(unroll_count=4):
            assert unrolled() == 4

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(60)
    in_child(child)
    assert registry()["rng-seed"].value == 7
    leave.set()
    thread.join()
    assert registry()["rng-seed"].value == 0
    """
    )


def test_processes_of_every_start_method_take_contexts(tmp_path: Path) -> None:
    run_python(
        """
        import multiprocessing, warnings
        from optctx import OptionContext
        from support import unrolled

        warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads is what is tested

        def work(context):
            with context:
                return unrolled()

        if __name__ == "__main__":
            contexts = [OptionContext(unroll_count=count) for count in (2, 3, 4)]
            for method in ("fork", "forkserver", "spawn"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    assert pool.map(work, contexts) == [2, 3, 4], method
        """,
        file=tmp_path / "script.py",
    )


@pytest.mark.redirected
def test_the_interpreter_ends_with_contexts_active_on_several_threads() -> None:
    run_python("""
        import threading, time
        from optctx import OptionContext
        OptionContext(unroll_count=3).__enter__()
        OptionContext(unroll_count=4, rng_seed=3, process_wide="exclusive").__enter__()
        entered = threading.Barrier(2)

        def stay():
            with OptionContext(rng_seed=3, process_wide="exclusive"):
                entered.wait(60)
                time.sleep(1000)

        threading.Thread(target=stay, daemon=True).start()
        entered.wait(60)
    """)


def test_the_interpreter_ends_while_threads_wait_to_enter() -> None:
    run_python("""
        import threading, time
        from optctx import OptionContext
        from support import outside, unrolled
        OptionContext(unroll_count=3).__enter__()
        OptionContext(rng_seed=3, process_wide="exclusive").__enter__()

        def wait():
            with OptionContext(unroll_count=4):
                raise AssertionError("it is not its turn")

        threading.Thread(target=outside(wait), daemon=True).start()
        threading.Thread(target=outside(unrolled), daemon=True).start()
        time.sleep(0.3)  # leaving the scopes, when the main thread ends, lets them in
    """)


def test_a_signal_handler_that_enters_a_scope_leaves_the_interrupted_one_alone() -> None:
    run_python("""
        import signal
        from optctx import OptionContext, current
        from support import unrolled
        seen = []

        def on_alarm(number, frame):
            with OptionContext(unroll_count=4):
                seen.append(unrolled())
            signal.setitimer(signal.ITIMER_REAL, 0.005)  # again, but never inside itself

        unrolled(), OptionContext()
        signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        with OptionContext(unroll_count=3) as context:
            results = {unrolled() for _ in range(300)}
            assert current() is context
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert results == {3} and len(seen) > 10 and set(seen) == {4}, (results, seen)
    """)

"""Forks, shutdown and signals: nothing crashes or hangs."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import warnings

import pytest

from optctx import OptionContext, current, info, registry
from tests.support.alone import alone
from tests.support.processes import in_child
from tests.support.scopes import inside_elsewhere, outside, unrolled, waiting


@alone
def test_a_child_of_fork_is_in_the_scope_that_its_parent_was_in() -> None:
    def child() -> None:
        assert (current()["unroll-count"], unrolled()) == (3, 3)
        context.__exit__()
        assert (current()["unroll-count"], unrolled()) == (0, 1)
        with OptionContext(unroll_count=4):
            assert unrolled() == 4

    with OptionContext(unroll_count=3) as context:
        in_child(child)
        assert unrolled() == 3


@alone
def test_a_child_of_fork_does_not_wait_for_threads_that_it_does_not_have() -> None:
    def child() -> None:
        assert info()["active_scopes"] == 0
        with OptionContext(rng_seed=7, process_wide="exclusive"):
            assert registry()["rng-seed"].value == 7
        assert registry()["rng-seed"].value == 0

    with inside_elsewhere(OptionContext(unroll_count=2)):
        in_child(child)


@alone
def test_what_another_thread_changed_process_wide_is_undone_in_a_child_of_fork() -> None:
    def child() -> None:
        assert registry()["rng-seed"].value == 0
        with OptionContext(unroll_count=4):
            assert unrolled() == 4

    with inside_elsewhere(OptionContext(rng_seed=7, process_wide="exclusive")):
        in_child(child)
        assert registry()["rng-seed"].value == 7
    assert registry()["rng-seed"].value == 0


def unrolled_in(context: OptionContext) -> int:
    with context:
        return unrolled()


@alone
def test_processes_of_every_start_method_take_contexts() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads is what is tested
    contexts = [OptionContext(unroll_count=count) for count in (2, 3, 4)]
    for method in ("fork", "forkserver", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.map(unrolled_in, contexts) == [2, 3, 4], method


@pytest.mark.redirected
@alone
def test_the_interpreter_ends_with_contexts_active_on_several_threads() -> None:
    OptionContext(unroll_count=3).__enter__()
    OptionContext(unroll_count=4, rng_seed=3, process_wide="exclusive").__enter__()
    entered = threading.Barrier(2)

    def stay() -> None:
        with OptionContext(rng_seed=3, process_wide="exclusive"):
            entered.wait(60)
            threading.Event().wait()

    threading.Thread(target=stay, daemon=True).start()
    entered.wait(60)


@alone
def test_the_interpreter_ends_while_threads_wait_to_enter() -> None:
    OptionContext(unroll_count=3).__enter__()
    OptionContext(rng_seed=3, process_wide="exclusive").__enter__()

    def wait() -> None:
        with OptionContext(unroll_count=4):
            raise AssertionError("it is not its turn")

    unrolled()  # what its first call imports and makes is there
    for work in (wait, unrolled):
        waiting(outside(work))  # leaving the scopes, when the main thread ends, lets it in


@alone
def test_a_signal_handler_that_enters_a_scope_leaves_the_interrupted_one_alone() -> None:
    seen = []

    def on_alarm(*_: object) -> None:
        with OptionContext(unroll_count=4):
            seen.append(unrolled())
        signal.setitimer(signal.ITIMER_REAL, 0.005)  # again, but never inside itself

    unrolled()
    OptionContext()
    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    with OptionContext(unroll_count=3) as context:
        results = {unrolled() for _ in range(150)}
        assert current() is context
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert (results, set(seen)) == ({3}, {4})
    assert len(seen) > 10

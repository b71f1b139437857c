"""Shutdown and signals: nothing crashes or hangs."""

from __future__ import annotations

import signal
import threading

from optctx import OptionContext, current
from tests.support.alone import alone
from tests.support.processes import SECONDS
from tests.support.scopes import unrolled


@alone
def test_the_interpreter_ends_with_contexts_active_on_several_threads() -> None:
    OptionContext(unroll_count=3).__enter__()
    OptionContext(unroll_count=4).__enter__()
    entered = threading.Barrier(2)

    def stay() -> None:
        with OptionContext(unroll_count=5):
            entered.wait(SECONDS)
            threading.Event().wait()

    threading.Thread(target=stay, daemon=True).start()
    entered.wait(SECONDS)


@alone
def test_a_signal_handler_that_enters_a_scope_leaves_the_interrupted_one_alone() -> None:
    seen = []

    def on_alarm(*_: object) -> None:
        with OptionContext(unroll_count=4):
            seen.append(unrolled())
        signal.setitimer(signal.ITIMER_REAL, 0.005)  # again, but never inside itself

    OptionContext()  # attaches
    unrolled()
    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    results = set()
    with OptionContext(unroll_count=3) as context:
        while len(seen) < 20:
            results.add(unrolled())
        assert current() is context
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert (results, set(seen)) == ({3}, {4})

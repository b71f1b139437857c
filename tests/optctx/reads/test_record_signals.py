"""`record()` and `unread` work by faults: those that are not theirs go where they went before.

Everything runs in processes of its own, most of them children of this one.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from optctx import OptctxError, record
from tests.support.alone import end_of
from tests.support.processes import forked, handler_of
from tests.support.rows import rows
from tests.support.scopes import beside, four, in_threads, unrolled

pytestmark = [pytest.mark.usefixtures("attached")]


def blocked(work: Callable[[], object]) -> None:
    """Runs it on a thread that blocks SIGSEGV."""

    def run() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSEGV})
        work()

    in_threads([run])


def install_faulthandler() -> None:
    """Install its handler now, even if pytest has done so."""
    faulthandler.disable()
    faulthandler.enable()


def refused(work: Callable[[], object], words: str) -> None:
    with pytest.raises(OptctxError) as caught:
        work()
    assert words in str(caught.value)


# Faults that are not those of a read

FAULTS: dict[str, Callable[[], object]] = {
    "a bad address": lambda: ctypes.string_at(16),
    "sent": lambda: os.kill(os.getpid(), signal.SIGSEGV),
}
BLOCKS: dict[str, Callable[[], Any]] = {"record": record, "unread": lambda: four(unread="warn")}


# The second has nothing to do with where the fault comes from, nor has the third.
CASES = [
    ("a bad address", "unread", True),
    ("sent", "record", False),
]


def fault_inside(fault: str, block: str, traced: bool) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if traced:
        faulthandler.enable()
    with BLOCKS[block]():
        unrolled()
        FAULTS[fault]()
    print("still alive")


@rows(("fault", "block", "traced"), CASES)
def test_any_other_fault_ends_the_process_as_ever(fault: str, block: str, traced: bool) -> None:
    end = end_of(fault_inside, fault=fault, block=block, traced=traced)
    assert (end.status, end.failed) == (-signal.SIGSEGV, "")
    assert end.printed.count("Fatal Python error: Segmentation fault") == traced
    assert ("most recent call first" in end.printed) == traced  # from Python 3.14 on also of the C stack
    assert "still alive" not in end.printed


@forked
def test_handlers_are_as_before_afterwards_whatever_they_were() -> None:
    heard = []
    kinds: list[Callable[[], object]] = [
        lambda: signal.signal(signal.SIGSEGV, lambda *arguments: heard.append(arguments[0])),
        lambda: signal.signal(signal.SIGSEGV, signal.SIG_IGN),
        lambda: signal.signal(signal.SIGSEGV, signal.SIG_DFL),
        install_faulthandler,
    ]
    for install in kinds:
        install()
        before = handler_of(signal.SIGSEGV)
        for _ in range(2):
            with record() as log, four(unread="error"), record():
                assert handler_of(signal.SIGSEGV) != before
                assert unrolled() == 4
                if install is kinds[0]:
                    signal.raise_signal(signal.SIGSEGV)
                    assert heard.pop() == signal.SIGSEGV
                if install is kinds[1]:
                    signal.raise_signal(signal.SIGSEGV)
            assert log.reads["unroll-count"].value == 4
            assert handler_of(signal.SIGSEGV) == before


# Handlers that come later

LATER: dict[str, Callable[[], object]] = {
    "faulthandler": install_faulthandler,
    "the default action": lambda: signal.signal(signal.SIGSEGV, signal.SIG_DFL),
    "a blocked signal": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSEGV}),
}


@rows("later", LATER)
@forked
def test_who_takes_the_signal_over_inside_a_block_ends_the_recording_and_not_the_process(later: str) -> None:
    with record() as outer:
        with contextlib.suppress(ZeroDivisionError), record() as log:
            assert unrolled() == 1
            assert log.reads["unroll-count"].value == 0
            LATER[later]()
            assert unrolled() == 1
            refused(lambda: log.reads, "not everything that LLVM read was recorded")
            assert unrolled() == 1
            with four():
                assert unrolled() == 4
            raise ZeroDivisionError  # which is not masked
        for name in ("reads", "unread"):
            refused(partial(getattr, log, name), "SIGSEGV")
        refused(log.fingerprint, "SIGSEGV")
    refused(lambda: outer.reads, "not everything")
    assert unrolled() == 1


# Threads that block the signal


@forked
def test_a_thread_that_blocks_the_signal_is_refused_and_others_go_on() -> None:
    entered, stop = threading.Event(), threading.Event()
    context = four(unread="error")

    def inside() -> None:
        with record(), context:
            entered.set()
            stop.wait()
            assert unrolled() == 4

    def look() -> None:
        blocked(lambda: refused(record().__enter__, "blocks SIGSEGV"))
        blocked(lambda: refused(context.__enter__, "blocks SIGSEGV"))
        blocked(lambda: unrolled() == 1 or 1 / 0)

    with beside(inside):
        entered.wait()
        look()
        stop.set()
    look()

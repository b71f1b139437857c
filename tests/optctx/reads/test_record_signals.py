"""`record()` and `unread` work by faults: those that are not theirs go where they went before."""

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

import pytest

from optctx import OptctxError, record
from tests.support.alone import end_of
from tests.support.processes import forked, handler_of
from tests.support.rows import rows
from tests.support.scopes import beside, four, in_threads, unrolled

pytestmark = [pytest.mark.usefixtures("attached")]


def block_signal() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSEGV})


def install_faulthandler() -> None:
    """Install its handler now, even if pytest has done so."""
    faulthandler.disable()
    faulthandler.enable()


def refused(work: Callable[[], object], words: str) -> None:
    with pytest.raises(OptctxError, match=words):
        work()


def fault_inside(sent: bool) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sent:
        with record():
            unrolled()
            os.kill(os.getpid(), signal.SIGSEGV)
    faulthandler.enable()
    with four(unread="warn"):
        unrolled()
        ctypes.string_at(16)


@rows("sent", (True, False))
def test_any_other_fault_ends_the_process_as_ever(sent: bool) -> None:
    end = end_of(fault_inside, sent=sent)
    assert (end.status, end.failed) == (-signal.SIGSEGV, "")
    assert end.printed.count("Fatal Python error: Segmentation fault") == (not sent)
    assert ("most recent call first" in end.printed) == (not sent)  # from Python 3.14 on also of the C stack


@forked
def test_handlers_are_as_before_afterwards_whatever_they_were() -> None:
    heard = []
    kinds: list[Callable[[], object]] = [
        lambda: signal.signal(signal.SIGSEGV, lambda *arguments: heard.append(arguments[0])),
        lambda: signal.signal(signal.SIGSEGV, signal.SIG_IGN),
        lambda: signal.signal(signal.SIGSEGV, signal.SIG_DFL),
        install_faulthandler,
    ]
    for number, install in enumerate(kinds):
        install()
        before = handler_of(signal.SIGSEGV)
        for _ in range(2):
            with record() as log, four(unread="error"), record():
                assert handler_of(signal.SIGSEGV) != before
                assert unrolled() == 4
                if number < 2:
                    signal.raise_signal(signal.SIGSEGV)
            assert log.reads["unroll-count"].value == 4
            assert handler_of(signal.SIGSEGV) == before
    assert heard == [signal.SIGSEGV] * 2


# Handlers that come later

LATER: dict[str, Callable[[], object]] = {
    "faulthandler": install_faulthandler,
    "the default action": lambda: signal.signal(signal.SIGSEGV, signal.SIG_DFL),
    "a blocked signal": block_signal,
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
            with four():
                assert unrolled() == 4
            raise ZeroDivisionError  # which is not masked
        for name in ("reads", "unread"):
            refused(partial(getattr, log, name), "SIGSEGV")
        refused(log.fingerprint, "SIGSEGV")
    refused(lambda: outer.reads, "not everything")


@forked
def test_a_thread_that_blocks_the_signal_is_refused_and_others_go_on() -> None:
    entered, stop = threading.Event(), threading.Event()
    context = four(unread="error")

    def inside() -> None:
        with record(), context:
            entered.set()
            stop.wait()
            assert unrolled() == 4

    def blocked() -> None:
        block_signal()
        refused(record().__enter__, "blocks SIGSEGV")
        refused(context.__enter__, "blocks SIGSEGV")
        assert unrolled() == 1

    with beside(inside):
        entered.wait()
        in_threads([blocked])
        stop.set()
    in_threads([blocked])

"""What the main thread does while others take their steps: it enters scopes and compiles, under signals."""

from __future__ import annotations

import gc
import random
import signal
from types import FrameType

from llvmlite.binding import ffi

from optctx import OptionContext, ScopeError, current
from tests.promises.running import expect
from tests.support.each_instruction import Interrupt
from tests.support.interrupts import Work, signals, works

__all__ = ["interrupted"]

# Without those that wait for other threads, change what these see, or compile outside every scope.
_WORKS = ("empty", "nested", "generators", "run", "decorated", "recorded", "unread fails", "compiled")
_SECONDS = 0.01  # until a signal arrives, at most


def interrupted() -> None:
    """A handler enters a scope in the middle of some work, and another one raises. No scope stays entered."""
    work = works()[random.choice(_WORKS)]  # each fork has numbers of its own
    _handled(work)
    try:
        signals(work, 2, _SECONDS, postponed=_is_in_llvmlite)
    except ScopeError as error:  # a generator still held a scope inside the one that the exception left
        if not isinstance(error.__context__, Interrupt):
            raise


def _is_in_llvmlite(frame: FrameType | None) -> bool:
    """Whether llvmlite may be taking or giving up its lock, which an exception would leave locked."""
    while frame is not None and frame.f_code.co_filename != ffi.__file__:
        frame = frame.f_back
    return frame is not None


def _handled(work: Work) -> None:
    failures: list[BaseException] = []
    busy = False

    def handle(_: int, frame: FrameType | None) -> None:
        nonlocal busy
        if busy or _is_in_llvmlite(frame):  # a thread that changes options for the process may need its lock
            return
        busy = True
        try:
            with OptionContext(unroll_count=3, base="defaults"):
                expect(dict(current().overrides), {"unroll-count": 3}, "options that a handler sees")
                if random.random() < 0.2:
                    gc.collect()
        except BaseException as error:  # for the program
            if not (isinstance(error, ScopeError) and "a lock of optctx's" in str(error)):
                failures.append(error)
        busy = False

    signal.signal(signal.SIGPROF, handle)
    signal.setitimer(signal.ITIMER_PROF, 0.002, 0.002)
    try:
        for _ in range(5):
            work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)  # one may be under way still, to another thread
    if failures:
        raise failures.pop()

"""What the main thread does while others take their steps: it enters scopes and compiles, under signals."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
from types import FrameType

from llvmlite.binding import ffi

from optctx import OptionContext, ScopeError, current
from tests.promises.running import SECONDS, expect
from tests.support.forking import fork
from tests.support.interrupts import Work, works

# Without those that wait for other threads, change what these see, or compile outside every scope.
_WORKS = ("empty", "nested", "generators", "run", "decorated", "recorded", "unread fails", "compiled")


def interrupted() -> None:
    """A handler enters a scope in the middle of some work. No scope stays entered.

    tests/native/python/test_interrupts.py has handlers that raise, at each instruction.
    """
    name = random.choice(_WORKS)  # each fork has numbers of its own
    _handled(works()[name], forks=name != "compiled")  # LLVM's locks may be held in the child


def _is_in_llvmlite(frame: FrameType | None) -> bool:
    """Whether llvmlite may be taking or giving up its lock."""
    while frame is not None and frame.f_code.co_filename != ffi.__file__:
        frame = frame.f_back
    return frame is not None


def _forks() -> bool:
    """Whether this is the child, which has some seconds to end well. Its parent waits for that."""
    if not (pid := fork()):
        signal.alarm(SECONDS // 2)
        return True
    expect(os.waitpid(pid, 0)[1], 0, "how a child ends that a signal handler has forked")
    return False


def _handled(work: Work, *, forks: bool) -> None:
    failures: list[BaseException] = []
    busy = is_child = False

    def handle(_: int, frame: FrameType | None) -> None:
        nonlocal busy, is_child
        if busy or _is_in_llvmlite(frame):  # a thread that changes options for the process may need its lock
            return
        busy = True
        try:
            with OptionContext(unroll_count=3, base="defaults"):
                expect(dict(current().overrides), {"unroll-count": 3}, "options that a handler sees")
                if random.random() < 0.2:
                    gc.collect()
            if forks and not is_child and random.random() < 0.02:
                is_child = _forks()
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
        if is_child:  # it has gone on with the work
            os._exit(bool(failures) or sys.exc_info()[0] is not None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)  # one may be under way still, to another thread
    if failures:
        raise failures.pop()

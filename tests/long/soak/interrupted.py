"""What the main thread does while others take their steps: it enters scopes and compiles, under signals."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import sys
import time
from types import FrameType

from llvmlite.binding import ffi

from optctx import OptionContext, ScopeError, current
from tests.promises.running import SECONDS, expect
from tests.support.each_instruction import Interrupt
from tests.support.forking import fork
from tests.support.interrupts import Work, works

# Without those that wait for other threads, change what these see, or compile outside every scope.
_WORKS = ("empty", "nested", "generators", "run", "decorated", "recorded", "unread fails", "compiled")
_LONGEST = 0.01  # seconds until a signal arrives


def interrupted() -> None:
    """A handler enters a scope in the middle of some work, and another one raises. No scope stays entered."""
    name = random.choice(_WORKS)  # each fork has numbers of its own
    work = works()[name]
    _handled(work, forks=name != "compiled")  # LLVM's locks may be held in the child
    _raised(work)


def _is_in_llvmlite(frame: FrameType | None) -> bool:
    """Whether llvmlite may be taking or giving up its lock, which an exception would leave locked."""
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


def _repeat(work: Work) -> None:
    """A function of its own because of what tests/native/python/test_back_edges.py says."""
    end = time.monotonic() + _LONGEST + 0.05
    while time.monotonic() < end:
        work()


def _raised(work: Work) -> None:
    """One that arrives in llvmlite's code comes again later. A finaliser may swallow what it raises."""
    later = 1e-5

    def handle(_: int, frame: FrameType | None) -> None:
        nonlocal later
        if _is_in_llvmlite(frame):
            later *= 2  # or signals come faster than a busy machine handles them, each inside the one before
            signal.setitimer(signal.ITIMER_REAL, later)
            return
        raise Interrupt

    before = signal.signal(signal.SIGALRM, handle)
    try:
        with contextlib.suppress(Interrupt):
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, _LONGEST))
            _repeat(work)
            signal.setitimer(signal.ITIMER_REAL, 0)  # one that was postponed comes no later than here
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

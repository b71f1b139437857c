"""Signals that end a command: each is a KeyboardInterrupt, once, whatever it interrupts."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE = 1.0  # seconds in which further signals are one with the first: `timeout` sends two
_AGAIN = 0.005  # seconds after which an exception that was swallowed comes again


class Interrupts:
    """Has signals that end a process raise KeyboardInterrupt on the main thread. A context manager.

    Python prints and forgets an exception that a signal handler raises in a finaliser or in a weakref's
    callback, as each import has them. Such a one comes again. Signals that are ignored stay ignored, as
    `nohup` has it. On another thread than the main one it does nothing.

    `status`: the exit status that shells give to a process which the signal has ended.
    """

    def __init__(self) -> None:
        self._number: int = signal.SIGINT
        self._came = -_ONE
        self._handlers: dict[int, Any] = {}
        self._hook = sys.unraisablehook

    @property
    def status(self) -> int:
        return 128 + self._number

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._hook, sys.unraisablehook = sys.unraisablehook, self._swallowed
            for number in _ENDING:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:
                    self._handlers[number] = before
                    signal.signal(number, self._raise)
        return self

    def __exit__(self, *error: object) -> None:
        self._came = math.inf  # what still comes is one with what ended the block, or too late
        if self._handlers:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.unraisablehook = self._hook
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._came >= _ONE:
            self._number, self._came = number, now
            raise KeyboardInterrupt

    def _swallowed(self, unraisable: sys.UnraisableHookArgs) -> None:
        ours = threading.current_thread() is threading.main_thread()
        if not (ours and isinstance(unraisable.exc_value, KeyboardInterrupt)):
            self._hook(unraisable)
            return
        self._handlers.setdefault(signal.SIGALRM, signal.signal(signal.SIGALRM, self._repeat))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)

    def _repeat(self, number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

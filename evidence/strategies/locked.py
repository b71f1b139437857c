"""Options of the whole process under a lock that equal sets share: XLA's rules, and Comgr's."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from evidence.strategies.waiting import WaitingStrategy
from optctx.fresh import Job, Result
from optctx.fresh.job import compile_unchecked
from optctx.process import reset_process_options, set_process_options

__all__ = ["ComgrStrategy", "XlaStrategy"]


class XlaStrategy(WaitingStrategy):
    """Wait until every other user is done, or has the same options; then reset all options and parse.

    Users with the options that were parsed last skip the parser, also if the others are long gone. Leaving
    puts nothing back: the options stay until the next user has others. A bad option ends the process, since
    LLVM's parser is called without a stream for errors.
    """

    name = "exclusive"
    at_once = False
    source = "XLA, xla/service/llvm_ir/llvm_command_line_options.cc (LLVMCommandLineOptionsLock)"

    def __init__(self) -> None:
        super().__init__()
        self._active: tuple[str, ...] | None = None  # what was parsed last
        self._users = 0

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> None:
        with self._changed:
            self._wait_while(lambda: bool(self._users) and self._active != inside)
            if self._active != inside:
                _parse(inside)
                self._active = inside
            self._users += 1

    def _leave(self) -> None:
        with self._changed:
            self._users -= 1
            self._wake()

    def _compile(self, job: Job) -> Result:
        return compile_unchecked(job)


class ComgrStrategy(WaitingStrategy):
    """A readers-writer lock: users of the options that are in force share it, any other one has it alone.

    A user that had to parse keeps the lock to itself until it leaves. Leaving puts nothing back. A bad option
    ends the process.
    """

    name = "exclusive-comgr"
    at_once = False
    source = "ROCm, amd/comgr/src/comgr-options-cache.cpp (acquireOptionsScope)"

    def __init__(self) -> None:
        super().__init__()
        self._active: tuple[str, ...] = ()  # "all options at default", as a new process is taken to be
        self._readers = 0
        self._writer = False
        self._exclusive = _Exclusive()

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> None:
        with self._changed:
            self._wait_while(lambda: self._writer)
            if self._active == inside:
                self._readers += 1
                self._exclusive.entered.append(False)
                return
            self._wait_while(lambda: bool(self._readers) or self._writer)
            if self._active != inside:
                _parse(inside)
                self._active = inside
            self._writer = True
            self._exclusive.entered.append(True)

    def _leave(self) -> None:
        with self._changed:
            if self._exclusive.entered.pop():
                self._writer = False
            else:
                self._readers -= 1
            self._wake()

    def _compile(self, job: Job) -> Result:
        return compile_unchecked(job)


class _Exclusive(threading.local):
    """Of one thread: whether it has the lock to itself, for each scope."""

    def __init__(self) -> None:
        self.entered: list[bool] = []


def _parse(options: Sequence[str]) -> None:
    reset_process_options()
    set_process_options(options)

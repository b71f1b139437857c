"""A child: a fork that works, says what came of it, and ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import resource
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from optctx.children.messages import Reply, Start, bodies, encode, lower_limit, pack, write_all
from optctx.errors import OptctxError, shown

_LIBC, _PR_SET_PDEATHSIG = ctypes.CDLL(None), 1


class Channel:
    """The child's end: what it is told, and what it says."""

    def __init__(self, talk: int, printed: int) -> None:
        self.talk, self.printed = talk, printed
        self._bodies = bodies(talk)

    def hear(self) -> Iterator[Any]:
        """Yield what the child is told, each when it is asked for."""
        for body in self._bodies:
            yield pickle.loads(body)

    def send(self, message: object) -> None:
        """Say something to the caller."""
        write_all(self.talk, encode(message))


def fork(work: Callable[[Channel], object], talk: int, printed: int, closing: Iterable[int]) -> int:
    """Have a copy of this process, which has one thread, work in a process group of its own.

    `talk`: the copy's end of a socket. `printed`: a memory file for what it prints. `closing`: descriptors of
    this process that it must not keep. Returns its number. Raises OSError.
    """
    parent = os.getpid()
    if pid := os.fork():
        with contextlib.suppress(OSError):  # the child does the same; who is first counts
            os.setpgid(pid, pid)
        return pid
    channel = Channel(talk, printed)
    try:
        os.setpgid(0, 0)
        _end_with_parent(parent)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        lower_limit(resource.RLIMIT_CORE, 0)  # a crash is an answer, not a core file
        with open(os.devnull, "rb") as null:
            os.dup2(null.fileno(), 0)  # which may be the server's orders
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        for each in closing:
            os.close(each)
        work(channel)
        os._exit(0)
    except MemoryError:
        os.write(2, b"out of memory\n")  # from Python, or LLVM's operator new
    except BaseException as error:  # every error of a call must become an answer
        traceback.print_exc()
        channel.send(Reply("raised", error=_words(f"{type(error).__name__}: {error}")))
    finally:
        os._exit(1)


def kill(pid: int) -> None:
    """Kill a child with what it started. It is not reaped yet, so the number is its own."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def reap(pid: int) -> int:
    """Wait for a child's end. Return its exit status, or minus the signal."""
    kill(pid)  # what it started
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends. Exit now if it has ended."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def answer(prepared: object, channel: Channel) -> None:
    """Call a function as its Start says. Say what came of it, unless the function says it itself."""
    start: Start = next(channel.hear())
    if start.folder is not None:
        os.chdir(start.folder)
    os.environb.clear()
    os.environb.update(start.environment)
    start.limits.apply()
    if start.talks:
        start.function(prepared, channel, *start.arguments)
    else:
        channel.send(called(start.function, prepared, *start.arguments))


def called(function: Callable[..., object], *arguments: object) -> Reply:
    """Call a function. Return what it returned, or the words of its OptctxError."""
    try:
        return Reply("gave", pack(function(*arguments)))
    except OptctxError as error:
        return Reply("failed", error=_words(str(error)))
    except UnicodeEncodeError as error:  # LLVM takes UTF-8, and so do frames
        return Reply("failed", error=_words(f"cannot use {shown(error.object)}: it is not valid Unicode"))


def _words(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()

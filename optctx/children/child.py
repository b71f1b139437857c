"""A child: a fork that works, says what came of it, and ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

import msgspec

from optctx.children.death import Death, is_cut, printed_to
from optctx.children.messages import (
    Limits,
    Place,
    Reply,
    Start,
    arguments_of,
    encode,
    function_of,
    lower_limit,
    messages,
    pack,
    write_all,
)
from optctx.errors import OptctxError

T = TypeVar("T")
STOP = signal.SIGUSR1  # tells a server to end
_PR_SET_PDEATHSIG = 1
# Made beforehand: the process that writes it may get no memory to make it.
_NO_MEMORY = encode(Reply("no memory"))


class Channel:
    """The child's end: what it is told, and what it says."""

    def __init__(self, told: int, said: int, printed: int) -> None:
        self.told, self.said, self.printed = told, said, printed

    def hear(self, gives: type[T]) -> Iterator[T]:
        """Yield what the child is told."""
        return messages(self.told, gives)

    def send(self, message: object) -> None:
        """Say something to the caller."""
        write_all(self.said, encode(message))


class Child:
    """A fork of this process, started by making it. For processes of one thread. Raises OSError."""

    def __init__(
        self,
        work: Callable[[Channel], object],
        limits: Limits,
        place: Place | None = None,
        closing: Sequence[int] = (),
    ) -> None:
        """`place`: where it moves to before. `closing`: descriptors of this process that it must not keep."""
        self.late = False
        self.untold = bytearray()  # what its pipe has no room for
        self._files = limits.files
        opened: list[int] = []
        try:
            opened += os.pipe2(os.O_CLOEXEC)
            opened.append(os.memfd_create("printed"))
            opened += os.pipe2(os.O_CLOEXEC)
            parent = os.getpid()
            self.deadline = None if limits.seconds is None else time.monotonic() + limits.seconds
            self.pid = os.fork()
        except OSError:  # a limit of this machine
            _close(opened)
            raise
        self.hearing, said, self._printed, told, self.telling = opened
        if not self.pid:
            channel = Channel(told, said, self._printed)
            _run(work, limits, place, channel, parent, (*closing, self.hearing, self.telling))
        with contextlib.suppress(OSError):  # the child does the same; who is first counts
            os.setpgid(self.pid, self.pid)
        _close((said, told))
        os.set_blocking(self.telling, False)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Those of this process, which no other child must keep."""
        return self.hearing, self.telling, self._printed

    def tell(self, data: bytes) -> None:
        """Pass as much as its pipe has room for now; the rest waits in `untold`."""
        self.untold += data
        try:
            self._write()
        except BlockingIOError:
            pass
        except BrokenPipeError:  # it has ended; the end of what it says tells
            self.untold.clear()

    def _write(self) -> None:
        while self.untold:
            del self.untold[: os.write(self.telling, self.untold)]

    def kill(self, *, late: bool = False) -> None:
        """Kill it with what it started. It is still to be buried."""
        self.late |= late
        with contextlib.suppress(OSError):  # it is not reaped yet, so the number is its own
            os.killpg(self.pid, signal.SIGKILL)

    def bury(self) -> Death:
        """Wait for its end, after it said the last."""
        self.kill()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        printed, cut = printed_to(self._printed), is_cut(self._printed, self._files)
        _close(self.descriptors)
        how: Any = "timed out" if self.late else "exited" if status >= 0 else "killed"
        return Death(how, status, printed, cut)


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _run(
    work: Callable[[Channel], object],
    limits: Limits,
    place: Place | None,
    channel: Channel,
    parent: int,
    closing: Sequence[int],
) -> NoReturn:
    try:
        os.setpgid(0, 0)
        end_with_parent(parent)
        for number in (signal.SIGTERM, STOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {STOP})
        lower_limit(resource.RLIMIT_CORE, 0)  # a crash is an answer, not a core file
        _close([each for each in closing if each > 2])
        with open(os.devnull, "rb") as null:
            os.dup2(null.fileno(), 0)  # which may be the server's orders
        os.dup2(channel.printed, 1)
        os.dup2(channel.printed, 2)
        if place is not None:
            settle(place)
        limits.apply()
        work(channel)
        os._exit(0)
    except MemoryError:
        os.write(channel.said, _NO_MEMORY)
    except BaseException as error:  # every error of a call must become an answer
        traceback.print_exc()
        channel.send(Reply("raised", error=_words(f"{type(error).__name__}: {error}")))
    finally:
        os._exit(1)


def end_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent `parent` ends. Exit now if it has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def settle(place: Place) -> None:
    """Move to where the caller is."""
    if place.folder is not None:
        os.chdir(place.folder)
    os.environb.clear()
    os.environb.update(place.environment)


def answer(prepared: object, start: Start, channel: Channel) -> None:
    """Call the function of `start`, and say what came of it, unless the function says it itself."""
    if start.talks:
        arguments = arguments_of(start.function, start.arguments, given=2)
        function_of(start.function)(prepared, channel, *arguments)
    else:
        channel.send(called(prepared, start.function, start.arguments))


def called(prepared: object, function: str, arguments: msgspec.Raw) -> Reply:
    """Call a function by its name. Return what it returned, or the words of its OptctxError."""
    try:
        return Reply("gave", pack(call(prepared, function, arguments)))
    except OptctxError as error:
        return Reply("failed", error=_words(str(error)))


def call(prepared: object, function: str, arguments: msgspec.Raw) -> Any:
    """Call a function by its name."""
    return function_of(function)(prepared, *arguments_of(function, arguments, given=1))


def _words(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()

"""A child of the server: a fork that makes one call, or talks until it is told no more."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

import msgspec

from optctx.children.death import Death, is_cut, printed_to
from optctx.children.frames import encode, messages, pack, write_all
from optctx.children.limits import lower_limit
from optctx.children.messages import Place, Reply, Start, arguments_of, function_of
from optctx.children.spawning import STOP, end_with_parent
from optctx.errors import OptctxError

T = TypeVar("T")
# Made beforehand: the process that writes it may get no memory to make it.
_NO_MEMORY = encode(Reply("no memory"))


class Channel:
    """The child's end: what it is told, and what it says."""

    def __init__(self, told: int, said: int, printed: int) -> None:
        self.told, self.said, self.printed = told, said, printed

    def hear(self, gives: type[T]) -> Iterator[T]:
        """Yield what the child is told, until there is no more."""
        return messages(self.told, gives)

    def send(self, message: object) -> None:
        """Say something to the caller."""
        write_all(self.said, encode(message))


class Child:
    """A fork of this process, started by making it. For processes of one thread. Raises OSError."""

    def __init__(
        self,
        start: Start,
        work: Callable[[Channel], object],
        closing: Sequence[int],
    ) -> None:
        """`closing`: descriptors of this process that the child must not keep."""
        self.number, self.late = start.number, False
        self._files = start.limits.files
        self.untold = bytearray()  # what its pipe has no room for
        opened: list[int] = []
        try:
            opened += os.pipe2(os.O_CLOEXEC)
            opened.append(os.memfd_create("printed"))
            opened += os.pipe2(os.O_CLOEXEC) if start.talks else (-1, -1)
            parent = os.getpid()
            seconds = start.limits.seconds
            self.deadline = None if seconds is None else time.monotonic() + seconds
            self.pid = os.fork()
        except OSError:  # a limit of this machine
            _close(opened)
            raise
        self.hearing, said, self._printed, told, self.telling = opened
        if not self.pid:
            _run(
                start,
                work,
                Channel(told, said, self._printed),
                parent,
                (*closing, self.hearing, self.telling),
            )
        with contextlib.suppress(OSError):  # the child does the same; who is first counts
            os.setpgid(self.pid, self.pid)
        _close((said, told))
        if start.talks:
            os.set_blocking(self.telling, False)

    @property
    def descriptors(self) -> list[int]:
        """Those of this process, which no other child must keep."""
        return [each for each in (self.hearing, self.telling, self._printed) if each >= 0]

    def tell(self, data: bytes) -> None:
        """Pass as much as its pipe has room for now; the rest waits in `untold`."""
        self.untold += data
        try:
            self._push()
        except BlockingIOError:
            pass
        except BrokenPipeError:  # it has ended; the end of what it says tells
            self.untold.clear()

    def _push(self) -> None:
        while self.untold and self.telling >= 0:
            del self.untold[: os.write(self.telling, self.untold)]

    def close(self) -> None:
        """Tell it that there is no more."""
        _close((self.telling,))
        self.telling = -1
        self.untold.clear()

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
        _close((self.hearing, self._printed, self.telling))
        how: Any = "timed out" if self.late else "exited" if status >= 0 else "killed"
        return Death(how, status, printed, cut)


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        if descriptor >= 0:
            os.close(descriptor)


def _run(
    start: Start, work: Callable[[Channel], object], channel: Channel, parent: int, closing: Sequence[int]
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
        settle(start.place)
        start.limits.apply()
        work(channel)
        os._exit(0)
    except MemoryError:
        os.write(channel.said, _NO_MEMORY)
    except BaseException as error:  # every error of a call must become an answer
        traceback.print_exc()
        if not start.talks:
            channel.send(Reply("raised", error=_words(f"{type(error).__name__}: {error}")))
    finally:
        os._exit(1)


def settle(place: Place) -> None:
    """Move to where the caller is."""
    if place.folder is not None:
        os.chdir(place.folder)
    if place.environment:
        os.environb.clear()
        os.environb.update(place.environment)


def answer(prepared: object, start: Start, channel: Channel) -> None:
    """Call the function of `start`, and say what came of it, unless the function talks itself."""
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

"""A pool: a server process that has prepared once, and forks a child for each call."""

from __future__ import annotations

import atexit
import contextlib
import errno
import math
import os
import select
import signal
import socket
import subprocess
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from msgspec import structs

from optctx.children.death import Death, last_line, printed_to
from optctx.children.messages import (
    CHUNK,
    FrameError,
    Frames,
    Limits,
    Reply,
    Start,
    decode,
    order,
)
from optctx.children.python import python_command
from optctx.errors import EndedEarlyError, OptctxError
from optctx.locks import lock_left_behind

R = TypeVar("R")
# The server ignores what ends a whole group of processes: the one that started it handles that. Until then
# all signals are blocked, because Python's own start would print a traceback.
_START = (
    "import signal; "
    "[signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]; "
    "signal.pthread_sigmask(signal.SIG_SETMASK, ()); "
    "from optctx.children.server import main; main()"
)
GRACE = 10.0  # seconds that a server has to end, and to tell of the end of a child
_PREPARING = 120.0  # seconds that it has to prepare
_DROPPED = 1.0  # seconds after which a server that dropped a call is known to live
LONGEST = 1e6  # seconds of one wait: the kernel takes 24 days at most


@dataclass(frozen=True)
class Done(Generic[R]):
    """What came of a call. `value` counts if there is neither an error nor a death.

    error: The words of an OptctxError that the function raised; "" for none.
    death: How the child ended if it did not answer.
    printed: The end of what it printed.
    """

    value: R | None = None
    error: str = ""
    death: Death | None = None
    printed: str = ""


class Pool:
    """A server process that forks a child for each call. Any number of threads may call.

    A context manager: leaving it ends the server and every child. They also end with this process, whatever
    ends it. A forked copy of this process leaves its pools alone.

    `prepare(*arguments)` runs once in the server; what it returns is the first argument of every call. Every
    function is one that another process can import. Children run in the folder and with the environment of
    the caller. Ctrl-C does not reach them.
    """

    _popen: subprocess.Popen[bytes] | None = None

    def __init__(self, prepare: Callable[..., Any], *arguments: Any) -> None:
        """Start the server, and do not wait for it to prepare. Raises OSError if no process starts."""
        preparing = order((prepare, arguments))
        self._owner = os.getpid()
        self._is_used = False
        _running.add(self)
        self._printed = open(os.memfd_create("printed"), "rb")  # noqa: SIM115  lasts as long as this
        self._socket, self._servers = socket.socketpair()
        self._socket.settimeout(_PREPARING)
        try:
            self._start()
            self._servers.close()
            with contextlib.suppress(OSError):  # it has ended, as the first call will tell
                self._socket.sendall(preparing)
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        command, printed = python_command(_START), self._printed.fileno()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:  # an interrupt comes after the assignment
            orders = self._servers.fileno()
            self._popen = subprocess.Popen(
                command, stdin=orders, stdout=printed, stderr=printed, process_group=0
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server and every child."""
        if self._popen is None or not self.is_own:
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)  # it kills the children with what they started
        try:
            if self._is_used:  # otherwise it may prepare for long, and has no children
                self._popen.wait(GRACE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()
            self._popen.wait()

    def kill(self) -> None:
        """Kill the server, as one that is stopped. The kernel kills its children, not what they started."""
        assert self._popen is not None
        self._popen.kill()

    @property
    def is_own(self) -> bool:
        """Whether it belongs to this process, and not to the one that this one was forked from."""
        return self._owner == os.getpid()

    @property
    def process(self) -> int:
        """Wait until the server has prepared; return its process id.

        Raises OptctxError if it could not prepare, and EndedEarlyError if a signal ended it.
        """
        error = self._prepared()
        if error is None:
            death = self.lost()
            raise (EndedEarlyError if death.status < 0 else OptctxError)(str(death))
        if error or self._popen is None:
            raise OptctxError(error)
        return self._popen.pid

    def _prepared(self) -> str | None:
        """Wait until the server has prepared. Return its error, "" for none; None if it has ended before."""
        said = b""
        try:
            said = self._socket.recv(CHUNK, socket.MSG_PEEK)  # what is left there, no interrupt loses
        except TimeoutError:  # it is stopped
            self.kill()
        except OSError:
            pass
        return next((decode(body, str) for body in Frames().feed(said)), None)

    @property
    def orders(self) -> int:
        """A descriptor that `poll` finds closed when the server has ended."""
        return self._socket.fileno()

    @property
    def is_over(self) -> bool:
        """Whether the server has ended."""
        return self._popen is None or self._popen.poll() is not None

    def lost(self) -> Death:
        """The end of a call that got none: the server has ended, or could not take what was sent."""
        assert self._popen is not None
        try:
            status = self._popen.wait(_DROPPED)
        except subprocess.TimeoutExpired:
            return _no_process(os.strerror(errno.EMFILE))
        said = last_line(printed_to(self._printed.fileno()))
        ended = f"the helper process ended with status {status} before it answered"
        return Death("lost", status, f"{ended}: {said}" if said else ended)

    def submit(
        self, function: Callable[..., Any], *arguments: Any, gives: type[R], limits: Limits | None = None
    ) -> Call[R]:
        """Call `function(prepared, *arguments)` in a child of its own. Its result is decoded as `gives`.

        Waits until the server has prepared.
        """
        return Call(self, function, arguments, limits or Limits(), gives)

    def call(
        self, function: Callable[..., Any], *arguments: Any, gives: type[R], limits: Limits | None = None
    ) -> Done[R]:
        """Do as `submit` does, and wait."""
        return self.submit(function, *arguments, gives=gives, limits=limits).result()

    def send(self, module: str, *descriptors: int) -> None:
        """Have the server fork a child, with its ends of what the caller talks to it by."""
        self._prepared()
        self._is_used = True
        with contextlib.suppress(OSError):  # the server has ended: so the other ends are closed
            socket.send_fds(self._socket, [module.encode()], descriptors)

    def __del__(self) -> None:
        self.close()  # after an interrupt of that, the server may be there
        _close(self, "_socket", "_servers", "_printed")  # otherwise Python warns of each

    def _forked(self) -> None:
        """In a child of fork: leave the process to the parent, which ends it by closing the only socket."""
        _close(self, "_socket", "_servers")
        if self._popen is not None:
            self._popen.returncode = 0  # it is not a child of this process


def _close(owner: object, *names: str) -> None:
    for name in names:
        if hasattr(owner, name):  # it may have got none
            getattr(owner, name).close()


class Child:
    """A child of a pool, as its caller sees it. For one thread, but for `kill`. Dropping it ends the child.

    It calls `function(prepared, channel, *arguments)`, in a `Call` without the channel.

    `death`: its end, whether it has answered or not; None before. `how`: what that is called if it was killed
    for it. `deadline`: `wait` kills it then. If the server does not tell of an end, `wait` kills the server.
    """

    def __init__(
        self, pool: Pool, function: Callable[..., Any], arguments: Sequence[Any], limits: Limits
    ) -> None:
        """Start it. Waits until the server has prepared, as `Pool.submit` does."""
        folder = None
        with contextlib.suppress(OSError):  # it was removed
            folder = os.getcwdb()
        talks = not isinstance(self, Call)
        start = Start(function, arguments, talks, limits, folder, dict(os.environb))
        self.death: Death | None = None
        self.deadline = math.inf
        self._pool, self._limits = pool, limits
        self._frames, self._untold = Frames(), bytearray()  # what its socket has no room for
        self._is_ending = False
        self.how: Literal["timed out", "nonsense"] | None = None
        try:
            self._open(function.__module__)
        except OSError as error:
            self.death = _no_process(error.strerror)
            return
        if limits.seconds is not None:
            self.deadline = time.monotonic() + limits.seconds
        self.tell(start)

    def _open(self, module: str) -> None:
        self._printed = open(os.memfd_create("printed"), "rb")  # noqa: SIM115  as of a pool
        self._talk, talk = socket.socketpair()
        self._end, end = socket.socketpair()
        with talk, end:
            self._pool.send(module, talk.fileno(), self._printed.fileno(), end.fileno())

    def tell(self, message: object) -> None:
        """Tell the child something. Does nothing if it has ended. What it does not read yet, `hear` sends."""
        self._untold += order(message)
        self._send()

    def _send(self) -> None:
        while self._untold and self.death is None:
            sent = _sent(self._talk, self._untold)
            if sent is None:
                return
            del self._untold[:sent]

    def sources(self) -> dict[int, int]:
        """What to wait for: descriptors, each with its events. The end of the server is one without any."""
        if self.death is not None:
            return {}
        its = {self._end.fileno(): select.POLLIN, self._pool.orders: 0}
        if not self._is_ending:
            its[self._talk.fileno()] = select.POLLIN | (select.POLLOUT if self._untold else 0)
        return its

    def kill(self, how: Literal["timed out", "nonsense"] | None = None) -> None:
        """End the child with what it started. `how`: its death is to be called that."""
        self.how = self.how or how
        if self.death is None and not self._is_ending and self._pool.is_own:  # a fork may have it, too
            with contextlib.suppress(OSError):  # it ends now
                self._end.shutdown(socket.SHUT_WR)
            self.deadline = time.monotonic() + GRACE  # first: another thread than that which waits may kill
            self._is_ending = True

    def stop_late(self) -> None:
        """After its deadline: end the child, or a server that does not tell of its end."""
        if self._is_ending:
            self._pool.kill()
            self._bury(b"")
        else:
            self.kill("timed out")

    def hear(self) -> list[bytes]:
        """What the child has said since, without waiting. Sees to its death."""
        if self.death is not None:
            return []
        self._send()
        end = _received(self._end)  # first: what the child has said before its end is there by then
        if end is None and self._pool.is_over:  # a fork of this process may have the other side, too
            end = b""
        found: list[bytes] = []
        while data := _received(self._talk):
            found += self._fed(data)
            if end is None:
                return found  # the rest later: it may never end
        if data is not None:
            self.kill()  # it has ended, and perhaps left processes
        if end is not None:
            self._bury(end)
        return found

    def _fed(self, data: bytes) -> list[bytes]:
        if self.how != "nonsense":
            with contextlib.suppress(FrameError):
                return self._frames.feed(data)
            self.kill("nonsense")
        return []

    def _bury(self, end: bytes) -> None:
        told = next((decode(body, int | str) for body in Frames().feed(end)), None)  # type: ignore[arg-type]
        if isinstance(told, int):
            printed = printed_to(self._printed.fileno())
            self.death = Death(self.how or "ended", told, printed, self._limits.seconds)
        else:
            self.death = self._pool.lost() if told is None else _no_process(told)
        _close(self, "_talk", "_end", "_printed")

    def __del__(self) -> None:
        if hasattr(self, "_end"):
            self.kill()
        _close(self, "_talk", "_end", "_printed")


class Call(Child, Generic[R]):
    """A call of `function(prepared, *arguments)`, which a child makes and then ends."""

    def __init__(
        self,
        pool: Pool,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        limits: Limits,
        gives: type[R],
    ) -> None:
        super().__init__(pool, function, arguments, limits)
        self._gives = gives
        self._answers: list[bytes] = []

    def result(self) -> Done[R]:
        """Wait for the end. If the wait is interrupted, the child is killed."""
        try:
            return self._waited()
        except BaseException:
            self.kill()
            raise

    def _waited(self) -> Done[R]:
        while (done := self.done()) is None:
            wait([self])
        return done

    def done(self) -> Done[R] | None:
        """What came of it; None if it is under way. Does not wait."""
        self._answers += self.hear()
        if len(self._answers) > 1:
            self.kill("nonsense")
        end = self.death
        if end is None:
            return None
        if len(self._answers) == 1 and end.how not in ("lost", "nonsense"):
            with contextlib.suppress(FrameError):
                return done_by(decode(self._answers[0], Reply), self._gives, end)
        if self._answers and end.how != "lost":
            end = structs.replace(end, how="nonsense")
        return Done(death=end, printed="" if end.how == "lost" else end.printed)


def done_by(reply: Reply, gives: type[R], end: Death) -> Done[R]:
    """What came of a call that was answered. Raises FrameError for a value of another type than `gives`."""
    match reply.how:
        case "gave":
            return Done(decode(bytes(reply.value), gives), printed=end.printed)
        case "failed":
            return Done(error=reply.error, printed=end.printed)
    return Done(death=Death("lost", 0, reply.error), printed=end.printed)


def wait(children: Iterable[Child], seconds: float = math.inf) -> None:
    """Wait until one of them says something or ends, at most so long. Kills late ones."""
    poll, now = select.poll(), time.monotonic()
    for child in children:
        if child.death is None and child.deadline <= now:
            child.stop_late()
        seconds = 0 if child.death else min(seconds, child.deadline - now)
        for descriptor, events in child.sources().items():
            poll.register(descriptor, events)
    poll.poll(1000 * min(max(seconds, 0), LONGEST))


def _received(source: socket.socket) -> bytes | None:
    """What there is to read; b"" at the end, and None if there is nothing yet."""
    try:
        return source.recv(CHUNK, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:  # the other side has ended before it read everything
        return b""


def _sent(talk: socket.socket, data: bytearray) -> int | None:
    """Send some of the data. Return how many bytes count as sent; None if there is no room for more yet."""
    try:
        return talk.send(data, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:  # the other side has ended
        return len(data)


def _no_process(why: str | None) -> Death:
    return Death("lost", 0, f"no process can be started for it: {why}")


class SharedPool:
    """A pool of this process, made when it is first needed, and again if its server was killed."""

    def __init__(self, prepare: Callable[..., Any], *arguments: Any) -> None:
        self._prepare, self._arguments = prepare, arguments
        self._pool: Pool | None = None
        self._making = lock_left_behind()

    def running(self) -> Pool:
        """The pool. Raises OSError if no process can be started."""
        with self._making:
            pool = self._pool
            if pool is None or not pool.is_own or pool.is_over:
                pool = self._pool = Pool(self._prepare, *self._arguments)
            return pool


def _leave_to_parent() -> None:
    for pool in list(_running):
        pool._forked()


def _end_all() -> None:
    for pool in list(_running):
        pool.close()


_running: weakref.WeakSet[Pool] = weakref.WeakSet()
os.register_at_fork(after_in_child=_leave_to_parent)
atexit.register(_end_all)

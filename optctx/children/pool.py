"""A pool: a server process that has prepared once, and forks a child for each call."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from optctx.children.answers import Call, Done, Line, Listener, Talk
from optctx.children.death import Death, last_line
from optctx.children.frames import decode, encode, pack
from optctx.children.limits import Limits
from optctx.children.messages import Ended, FromServer, Place, Prepare, Ready, Said, Start, ToServer, name_of
from optctx.children.server_process import GRACE, READER, ServerProcess
from optctx.errors import EndedEarlyError, OptctxError
from optctx.locks import lock_left_behind

R = TypeVar("R")


class Pool:
    """A server process that forks a child for each call. Any number of threads may call.

    A context manager: leaving it ends the server and every child. They also end with this process, whatever
    ends it. A forked copy of this process leaves its pools alone.

    `prepare(*arguments)` runs once in the server; what it returns is the first argument of every call. Every
    function is one that another process can import; its arguments are decoded by its annotations. Children
    run in the folder and with the environment of the caller. Ctrl-C does not reach them.
    """

    def __init__(self, prepare: Callable[..., Any], *arguments: Any) -> None:
        """Start nothing yet."""
        self._prepare = name_of(prepare), pack(arguments)
        self._owner = os.getpid()
        self._state = lock_left_behind()
        self._numbers = itertools.count()
        self._listeners: dict[int, Listener] = {}  # of the children that live
        self._ready: Future[Ready | Death] = Future()
        self._end: Death | None = None
        self._over: Future[None] = Future()
        self._server: ServerProcess | None = None

    def __enter__(self) -> Pool:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the server, and do not wait for it to prepare.

        Raises OSError if no process can be started, and OptctxError if no thread can.
        """
        _running.add(self)
        try:
            self._server = server = ServerProcess(self._heard, self._gone)
            server.start()
            self._send(Prepare(*self._prepare, _place()))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the server and every child."""
        server = self._server
        if server is None or not self.is_own or self._over.done():
            return
        if threading.current_thread().name == READER:  # a finaliser, on the thread that sees the end
            server.kill()
            return
        if self._ready.done():
            server.close()  # it kills the children with what they started
        else:
            server.kill()  # it may prepare for long, and has no children
        with contextlib.suppress(TimeoutError):
            self._over.exception(GRACE)
            return
        server.kill()
        self._over.exception(GRACE)

    @property
    def is_own(self) -> bool:
        """Whether it belongs to this process, and not to the one that this one was forked from."""
        return self._owner == os.getpid()

    @property
    def process(self) -> int:
        """Wait until the server has prepared; return its process id.

        Raises OptctxError if it could not prepare, and EndedEarlyError if a signal ended it.
        """
        ready = self._ready.result()
        if isinstance(ready, Death):
            raise (EndedEarlyError if ready.status < 0 else OptctxError)(str(ready))
        if ready.error:
            raise OptctxError(ready.error)
        return ready.process

    @property
    def end(self) -> Death | None:
        """How the server ended; None while it runs."""
        return self._end

    def submit(
        self, function: Callable[..., Any], *arguments: Any, gives: type[R], limits: Limits | None = None
    ) -> Call[R]:
        """Call `function(prepared, *arguments)` in a child of its own. Its result is decoded as `gives`.

        Raises OptctxError if the pool does not run.
        """
        call = Call(gives)
        self.open(function, *arguments, listener=call, limits=limits, talks=False)
        return call

    def call(
        self, function: Callable[..., Any], *arguments: Any, gives: type[R], limits: Limits | None = None
    ) -> Done[R]:
        """Do as `submit` does, and wait."""
        return self.submit(function, *arguments, gives=gives, limits=limits).result()

    def open(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        listener: Listener,
        limits: Limits | None = None,
        talks: bool = True,
    ) -> None:
        """Start a child in which `function(prepared, channel, *arguments)` talks to the listener.

        `talks`: otherwise it gets no channel, and the listener hears one Reply.
        """
        packed, here = pack(arguments), _place()
        self._check()
        number = next(self._numbers)
        listener.line = Line(self._send, number)
        with self._state:
            if self._end is None:
                self._listeners[number] = listener
        if self._end is not None:
            listener.ended(self._end)
        else:
            self._send(Start(number, name_of(function), packed, limits or Limits(), here, talks))

    def talk(self, function: Callable[..., Any], *arguments: Any, gives: type[R]) -> Talk[R]:
        """Start a child as `open` does, for one thread. What it says is decoded as `gives`."""
        talk = Talk(gives)
        self.open(function, *arguments, listener=talk)
        return talk

    def _check(self) -> None:
        if not self.is_own:
            raise OptctxError(
                "this helper process belongs to the process that this one was forked from; make another one"
            )
        if self._server is None:
            raise OptctxError("this helper process is not running; use it inside its `with` block")

    def _send(self, order: ToServer) -> None:
        """Hand an order over. Never waits, so an interrupt cannot leave half of it in a pipe."""
        self._check()
        assert self._server is not None
        self._server.tell(encode(order))

    # On the thread that reads.

    def _heard(self, body: bytes) -> None:
        """Take what the server says. Raises FrameError."""
        message: FromServer = decode(body, FromServer)  # type: ignore[arg-type]
        match message:
            case Ready():
                self._ready.set_result(message)
            case Said():
                if listener := self._listeners.get(message.number):
                    listener.said(message.data)
            case Ended():
                if ended := self._listeners.pop(message.number, None):
                    ended.ended(message.end)

    def _gone(self, end: Death) -> None:
        """The server has ended: so have its children."""
        text = f"the helper process ended with status {end.status} before it answered{last_line(end.printed)}"
        with self._state:
            self._end = death = Death("lost", end.status, text)
            left, self._listeners = self._listeners, {}
        if not self._ready.done():
            self._ready.set_result(death)
        for each in left.values():
            each.ended(death)
        self._over.set_result(None)

    def _forked(self) -> None:
        if self._server is not None:
            self._server.leave()


class SharedPool:
    """A pool of this process, made when it is first needed, and again if its server was killed."""

    def __init__(self, prepare: Callable[..., Any]) -> None:
        self._prepare = prepare
        self._pool: Pool | None = None
        self._making = lock_left_behind()

    def running(self) -> Pool:
        """The pool. Raises OSError if no process can be started, and OptctxError if no thread can."""
        with self._making:
            pool = self._pool
            if pool is None or pool.end is not None or not pool.is_own:
                pool = Pool(self._prepare)
                pool.start()
                self._pool = pool  # one that an interrupt kept from starting is of no use
            return pool


def _place() -> Place:
    """Where a child is to run, and what it is to have in its environment."""
    folder = None
    with contextlib.suppress(OSError):  # it was removed
        folder = os.getcwdb()
    return Place(folder, dict(os.environb))


def _leave_to_parent() -> None:
    for pool in list(_running):
        pool._forked()


def _end_all() -> None:
    for pool in list(_running):
        pool.close()


_running: weakref.WeakSet[Pool] = weakref.WeakSet()
os.register_at_fork(after_in_child=_leave_to_parent)
atexit.register(_end_all)

"""A pool: a server process that has prepared once, and forks a child for each call."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import signal
import subprocess
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from optctx.children.answers import Call, Done, Listener
from optctx.children.death import Death, last_line, printed_to
from optctx.children.messages import (
    CHUNK,
    Ended,
    FrameError,
    Frames,
    FromServer,
    Limits,
    Place,
    Prepare,
    Ready,
    Said,
    Start,
    ToServer,
    decode,
    encode,
    name_of,
    pack,
    write_all,
)
from optctx.children.python import python_command
from optctx.errors import EndedEarlyError, OptctxError
from optctx.locks import lock_left_behind

R = TypeVar("R")
# The server ignores what ends a whole group of processes: the one that started it handles that. Until then
# these signals are blocked, because Python's own start would print a traceback. It does nothing for a process
# that has ended while it was imported.
_START = (
    "import os, signal; "
    "[signal.signal(each, signal.SIG_IGN) for each in {ending}]; "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {ending}); "
    "from optctx.children.server import main; os.getppid() == {parent} or os._exit(1); sys.exit(main())"
)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 10.0  # seconds that a server has to end
_READER = "optctx-pool"  # the name of the threads that read


def popen(printed: int) -> subprocess.Popen[bytes]:
    """Start a server with pipes to its standard input and output, and this descriptor for what it prints.

    The kernel ends it with the thread that calls this.
    """
    text = _START.format(parent=os.getpid(), ending=list(map(int, _ENDING)))
    pipe, before = subprocess.PIPE, signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        return subprocess.Popen(python_command(text), bufsize=0, stdin=pipe, stdout=pipe, stderr=printed)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
        self._is_begun = False
        self._popen: subprocess.Popen[bytes] | None = None
        self._orders: SimpleQueue[bytes | None] = SimpleQueue()
        self._started: Future[None] = Future()

    def __enter__(self) -> Pool:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the server, and do not wait for it to prepare.

        Raises OSError if no process can be started, and EndedEarlyError if no thread can (ulimit -u, -v).
        """
        _running.add(self)
        self._is_begun = True
        try:
            try:
                threading.Thread(target=self._work, name=_READER, daemon=True).start()
            except RuntimeError as error:
                self._fail(_no_thread(error))
            self._started.result()
            self._send(Prepare(*self._prepare, _place()))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the server and every child."""
        if not self._is_begun or not self.is_own or self._over.done():
            return
        if threading.current_thread().name == _READER:  # a finaliser, on the thread that sees the end
            self._kill()
            return
        if self._ready.done():
            self._orders.put(None)  # it kills the children with what they started
        else:
            self._kill()  # it may prepare for long, and has no children
        with contextlib.suppress(TimeoutError):
            self._over.exception(GRACE)
            return
        self._kill()
        self._over.exception(GRACE)

    def _kill(self) -> None:
        if self._popen is not None:
            self._popen.kill()
        self._orders.put(None)

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
        listener.send, listener.number = self._send, number
        with self._state:
            if self._end is None:
                self._listeners[number] = listener
        if self._end is not None:
            listener.ended(self._end)
        else:
            self._send(Start(number, name_of(function), packed, limits or Limits(), here, talks))

    def _check(self) -> None:
        if not self.is_own:
            raise OptctxError(
                "this helper process belongs to the process that this one was forked from; make another one"
            )
        if not self._is_begun:
            raise OptctxError("this helper process is not running; use it inside its `with` block")

    def _send(self, order: ToServer) -> None:
        """Hand an order over. Never waits, so an interrupt cannot leave half of it in a pipe."""
        self._check()
        self._orders.put(encode(order))

    # On two threads, one of which reads and one writes. Signals arrive on neither, so an interrupt of the
    # caller loses nothing that they do.

    def _work(self) -> None:
        """Start the process, which the kernel ends with this thread. Hear it until its end."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            with open(os.memfd_create("printed"), "rb") as printed:
                process = self._popen = self._start_process(printed.fileno())
                self._started.set_result(None)
                self._hear(process, printed.fileno())
        except BaseException as error:
            if self._started.done():
                raise
            self._fail(error)

    def _start_process(self, printed: int) -> subprocess.Popen[bytes]:
        process = popen(printed)
        try:
            threading.Thread(target=self._write, args=(process.stdin,), daemon=True).start()
        except RuntimeError as error:
            process.kill()
            process.communicate()
            raise _no_thread(error) from None
        return process

    def _hear(self, process: subprocess.Popen[bytes], printed: int) -> None:
        assert process.stdout is not None
        try:
            with process.stdout as answers:
                self._relay(answers.fileno())
        except FrameError:
            process.kill()
        finally:
            self._orders.put(None)
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()  # the kernel then kills its children
                process.wait()
            self._gone(process.returncode, printed_to(printed))

    def _relay(self, answers: int) -> None:
        frames = Frames()
        while data := os.read(answers, CHUNK):
            for body in frames.feed(data):
                self._heard(body)

    def _write(self, stdin: Any) -> None:
        with stdin, contextlib.suppress(OSError):  # the server has ended: the other thread tells
            self._write_orders(stdin.fileno())

    def _write_orders(self, orders: int) -> None:
        while (data := self._orders.get()) is not None:
            write_all(orders, data)

    def _fail(self, error: BaseException) -> None:
        self._gone(0, "")
        self._started.set_exception(error)

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

    def _gone(self, status: int, printed: str) -> None:
        """The server has ended: so have its children."""
        text = f"the helper process ended with status {status} before it answered{last_line(printed)}"
        with self._state:
            self._end = death = Death("lost", status, text)
            left, self._listeners = self._listeners, {}
        if not self._ready.done():
            self._ready.set_result(death)
        for each in left.values():
            each.ended(death)
        self._over.set_result(None)

    def _forked(self) -> None:
        """In a child of fork: leave the process to the parent, which ends it by closing the only pipe."""
        if process := self._popen:
            process.returncode = 0  # it is not a child of this process
            for file in (process.stdin, process.stdout):
                if file is not None:
                    file.close()


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


def _no_thread(error: RuntimeError) -> EndedEarlyError:
    return EndedEarlyError(f"cannot listen to a fresh process: {error}")


def _leave_to_parent() -> None:
    for pool in list(_running):
        pool._forked()


def _end_all() -> None:
    for pool in list(_running):
        pool.close()


_running: weakref.WeakSet[Pool] = weakref.WeakSet()
os.register_at_fork(after_in_child=_leave_to_parent)
atexit.register(_end_all)

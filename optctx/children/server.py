"""The server of a pool: it prepares once, and then forks a child for each call.

It has one thread and a selector, because forking is sound only in a process with one thread. What children
say is passed on unread.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import resource
import selectors
import signal
import time
from types import FrameType

from optctx.children.child import STOP, Child, answer, end_with_parent, settle
from optctx.children.death import Death
from optctx.children.messages import (
    CHUNK,
    Ended,
    Frames,
    Kill,
    Prepare,
    Ready,
    Said,
    Start,
    Tell,
    ToServer,
    arguments_of,
    decode,
    encode,
    function_of,
    lower_limit,
    write_all,
)
from optctx.errors import OptctxError

_LONGEST = 1e6  # seconds of one wait: epoll takes 24 days at most


class Server:
    """Reads orders from one descriptor, and writes to another what its children say and how they end."""

    def __init__(self, orders: int, answers: int) -> None:
        self._orders, self._answers = orders, answers
        self._parent = os.getppid()
        self._frames = Frames()
        self._prepared: object = None
        self._selector = selectors.EpollSelector()
        self._selector.register(orders, selectors.EVENT_READ)
        self._children: dict[int, Child] = {}

    def serve(self) -> None:
        """Work until the other side closes the orders. Leave no process behind."""
        try:
            self._work()
        finally:
            self._kill_all()
            for child in self._children.values():
                child.bury()  # it would stay a zombie where the init process reaps none

    def _work(self) -> None:
        # Not in the `try` of its caller, which Python 3.13 forgets at the loop's end (design/interrupts.md).
        while self._step():
            pass

    def _step(self) -> bool:
        for key, events in self._selector.select(self._kill_late()):
            if key.fd == self._orders:
                data = os.read(self._orders, CHUNK)
                if not data:
                    return False
                for body in self._frames.feed(data):
                    if not self._obey(decode(body, ToServer)):  # type: ignore[arg-type]
                        return False
            elif key.data in self._children:
                if events & selectors.EVENT_WRITE:
                    self._tell(key.data, b"")
                else:
                    self._hear(key.data)
        return True

    def _kill_all(self) -> None:
        for child in list(self._children.values()):
            child.kill()

    def _kill_late(self) -> float:
        """Kill children whose time is up. Return how many seconds to wait at most before the next look."""
        now, left = time.monotonic(), []
        for child in self._children.values():
            if child.deadline is not None and not child.late:
                if child.deadline <= now:
                    child.kill(late=True)
                else:
                    left.append(child.deadline - now)
        return min([*left, _LONGEST])

    def _obey(self, order: ToServer) -> bool:
        """False: there is nothing to serve."""
        match order:
            case Prepare():
                return self._prepare(order)
            case Start():
                self._start(order)
            case _ if order.number not in self._children:
                pass  # it has ended
            case Tell():
                self._tell(order.number, order.data)
            case Kill():
                self._children[order.number].kill()
        return True

    def _prepare(self, order: Prepare) -> bool:
        try:
            settle(order.place)
            function = function_of(order.function)
            self._prepared = function(*arguments_of(order.function, order.arguments, given=0))
        except OptctxError as error:
            self._say(Ready(str(error), os.getpid()))
            return False
        gc.freeze()  # children share these pages
        # From now on there may be children, which have started processes of their own.
        self._end_when_told()
        end_with_parent(self._parent, STOP)
        self._say(Ready("", os.getpid()))
        return True

    def _end_when_told(self) -> None:
        """Have STOP end all at any moment: an exception of a handler could be lost."""
        own = os.getpid()

        def end(number: int, frame: FrameType | None) -> None:
            try:
                if os.getpid() == own:  # a fork that is told so just ends
                    self._kill_all()
            finally:
                os._exit(0)

        signal.signal(STOP, end)

    def _start(self, order: Start) -> None:
        # Otherwise STOP could come when the child has started something, and is not entered yet.
        signal.pthread_sigmask(signal.SIG_BLOCK, {STOP})
        try:
            self._fork(order)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {STOP})

    def _fork(self, order: Start) -> None:
        closing = [self._orders, self._answers, self._selector.fileno()]
        for each in self._children.values():
            closing += each.descriptors
        try:
            function_of(order.function)  # imports its module here, once for all children
            work = functools.partial(answer, self._prepared, order)
            child = Child(work, order.limits, order.place, closing)
        except OSError as error:
            why = f"no process can be started for it: {error.strerror}"
            self._say(Ended(order.number, Death("lost", 0, why)))
            return
        self._children[order.number] = child
        self._selector.register(child.hearing, selectors.EVENT_READ, order.number)

    def _tell(self, number: int, data: bytes) -> None:
        """Never wait for a child: it may wait for this process to read what it says."""
        child = self._children[number]
        child.tell(data)
        if not child.untold:
            self._forget(child)
        elif child.telling not in self._selector.get_map():
            self._selector.register(child.telling, selectors.EVENT_WRITE, number)

    def _forget(self, child: Child) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(child.telling)

    def _hear(self, number: int) -> None:
        child = self._children[number]
        if data := os.read(child.hearing, CHUNK):
            self._say(Said(number, data))
            return
        self._selector.unregister(child.hearing)
        self._forget(child)
        del self._children[number]
        self._say(Ended(number, child.bury()))

    def _say(self, message: Ready | Said | Ended) -> None:
        write_all(self._answers, encode(message))


def main() -> int:
    """Serve a pool on standard input, and on what standard output was. No other code may write there.

    What is printed goes to standard error. The process ends with its parent, and a crash leaves no core file,
    because it is an answer.
    """
    os.setpgid(0, 0)  # what ends the caller's group leaves this process the time to end its children
    end_with_parent(os.getppid())
    answers = os.dup(1)
    os.dup2(2, 1)
    lower_limit(resource.RLIMIT_CORE, 0)
    Server(0, answers).serve()
    return 0

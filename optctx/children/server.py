"""The server of a pool: it prepares once, and then forks a child for each call.

It has one thread, because forking is sound only in a process with one thread. What children say goes to the
caller and not through here.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import pickle
import select
import socket
from dataclasses import dataclass

from optctx.children.child import answer, fork, kill, reap
from optctx.children.messages import bodies, encode, write_all
from optctx.errors import OptctxError

_NAME = 4096  # bytes of a module's name, at most


@dataclass(frozen=True)
class _Child:
    """`life`: a pipe that ends with it. `end`: a socket that the caller ends to have it killed."""

    pid: int
    life: int
    end: int


class Server:
    """Reads orders from a socket: the name of a module to import, and descriptors for a child."""

    def __init__(self, orders: socket.socket, prepared: object) -> None:
        self._orders, self._prepared = orders, prepared
        self._children: dict[int, _Child] = {}  # by each of their descriptors
        self._poll = select.poll()
        self._poll.register(orders, select.POLLIN)

    def serve(self) -> None:
        """Work until the other side closes the orders. Leave no process behind."""
        try:
            self._work()
        finally:
            for child in set(self._children.values()):
                reap(child.pid)  # it would stay a zombie where the init process reaps none

    def _work(self) -> None:
        # Not in the `try` of its caller, which Python 3.13 forgets at the loop's end (design/interrupts.md).
        while self._step():
            pass

    def _step(self) -> bool:
        for descriptor, _ in self._poll.poll():
            child = self._children.get(descriptor)
            if descriptor == self._orders.fileno():
                if not self._obey():
                    return False
            elif child is not None and descriptor == child.life:
                self._bury(child)
            elif child is not None:
                kill(child.pid)
                self._poll.unregister(descriptor)
        return True

    def _obey(self) -> bool:
        name, descriptors, _, _ = socket.recv_fds(self._orders, _NAME, 3, socket.MSG_CMSG_CLOEXEC)
        if len(descriptors) == 3:
            self._start(name.decode(), *descriptors)
        else:  # this process may have no more; the caller sees that they are closed
            for each in descriptors:
                os.close(each)
        return bool(name)

    def _start(self, module: str, talk: int, printed: int, end: int) -> None:
        importlib.import_module(module)  # here, once for all children
        try:
            self._fork(talk, printed, end)
        except OSError as error:
            _tell(end, error.strerror)
        finally:
            os.close(talk)
            os.close(printed)

    def _fork(self, talk: int, printed: int, end: int) -> None:
        life, alive = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        work = functools.partial(answer, self._prepared)
        try:
            child = _Child(fork(work, talk, printed, (*self._children, life, end)), life, end)
        except OSError:
            os.close(life)
            raise
        finally:
            os.close(alive)
        self._children |= {life: child, end: child}
        self._poll.register(life, 0)  # only its end counts
        self._poll.register(end, select.POLLIN)

    def _bury(self, child: _Child) -> None:
        status = reap(child.pid)
        for each in (child.life, child.end):
            del self._children[each]
            with contextlib.suppress(KeyError):
                self._poll.unregister(each)
        os.close(child.life)
        _tell(child.end, status)


def _tell(end: int, what: object) -> None:
    """Tell the caller of a child's end, or why there is none."""
    with contextlib.suppress(OSError):  # the caller has left it alone
        write_all(end, encode(what))
    os.close(end)


def main() -> None:
    """Serve a pool on the socket that is standard input."""
    orders = socket.socket(fileno=0)
    if (body := next(bodies(orders.fileno()), None)) is None:
        return
    try:
        prepare, arguments = pickle.loads(body)
        prepared = prepare(*arguments)
    except OptctxError as error:
        orders.sendall(encode(str(error)))
        return
    gc.freeze()  # children share all that there is
    orders.sendall(encode(""))
    Server(orders, prepared).serve()

"""Calls on several threads of one child. Those that may have killed it are made again, alone."""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from queue import SimpleQueue
from typing import Any, Generic, NoReturn, TypeVar

import msgspec

from optctx.children.child import Channel, called
from optctx.children.death import Death, printed_to
from optctx.children.messages import FrameError, Limits, Reply, decode
from optctx.children.pool import GRACE, Call, Child, Done, Pool, done_by, wait
from optctx.errors import EndedEarlyError
from optctx.locks import lock_left_behind

R = TypeVar("R")
Function = Callable[..., Any]
Given = tuple[Any, ...]
_CLONE_FILES = 0x400
PER_THREAD = 160 << 20  # bytes of address space that a thread's stack and heap reserve


class _Said(msgspec.Struct, array_like=True):
    """A thread has begun a call; with a reply, it has ended it."""

    number: int
    reply: Reply | None = None
    printed: str = ""


def work(
    prepared: object, channel: Channel, begin: Function, given: Given, function: Function, threads: int
) -> NoReturn:
    """In the child: this thread reads, the others call. It may end at any moment."""
    begun = begin(prepared, *given)
    orders: SimpleQueue[tuple[int, Given]] = SimpleQueue()  # calls, with their arguments
    writing = lock_left_behind()

    def say(*message: Any) -> None:
        with writing:
            channel.send(_Said(*message))

    def serve() -> None:
        try:
            printed = _own_streams(channel.printed)
            while True:
                number, given = orders.get()
                say(number)
                say(number, called(function, begun, *given), _taken(printed))
        except BaseException:  # MemoryError, perhaps due to another thread: each is called again alone
            sys.excepthook(*sys.exc_info())
            os._exit(1)

    for _ in range(threads):
        threading.Thread(target=serve, daemon=True).start()
    for order in channel.hear():
        orders.put(order)
    os._exit(0)  # the caller has ended


def alone(prepared: object, begin: Function, given: Given, function: Function, *arguments: Any) -> Any:
    """In a child for one call: make it."""
    return function(begin(prepared, *given), *arguments)


def _own_streams(shared: int) -> int:
    """Give this thread its own file descriptors, and a memory file that receives what LLVM prints on it.

    Returns the file, or `shared` if the kernel forbids that. Then lines that threads print at the same moment
    get mixed up.
    """
    if ctypes.CDLL(None).unshare(_CLONE_FILES):
        return shared
    file = os.memfd_create("printed")
    os.dup2(file, 1)
    os.dup2(file, 2)
    return file


def _taken(file: int) -> str:
    """Return what was printed, and empty the file for the next call."""
    if not os.fstat(file).st_size:
        return ""
    text = printed_to(file)
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    return text


class _Child(Child):
    """The child as its crowd sees it. `sent`: the calls without an answer, and when a thread began each.

    `heard`: when it last began or ended one, or got one.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.sent: dict[int, float | None] = {}
        self.heard = time.monotonic()

    @property
    def running(self) -> dict[int, float]:
        """The calls that have begun."""
        return {number: began for number, began in self.sent.items() if began is not None}


class Crowd(Generic[R]):
    """Calls `function(begun, *arguments)` on threads of one child of a pool. For one thread.

    If the child dies, each call that it was making is made again in a child of its own, and another child
    goes on with the rest. The same happens to a call that takes too long, once the other threads of its
    child are done. So only a call that dies or hangs alone is a `Death`.

    A context manager: leaving it ends every child. The pool goes on.
    """

    def __init__(
        self,
        pool: Pool,
        begin: Callable[..., Any],
        *arguments: Any,
        function: Callable[..., Any],
        gives: type[R],
        threads: int,
        limit: Callable[[int], float],
        traits: Callable[[int], Iterable[Hashable]] = lambda number: (),
        memory: int | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            begin: `begin(prepared, *arguments)` runs once in each child. What it returns is the first
                argument of each call.
            gives: What the result of `function` is decoded as.
            threads: Calls at once.
            limit: Seconds that a call may take, by its number.
            traits: What a call has in common with others. Others with a trait of which each call died so far
                are suspects, and made alone, until one survives. That decides where a call is made, never
                what comes of it.
            memory: Bytes of address space for each call, beyond the server's. None is no limit.
        """
        self._pool, self._gives = pool, gives
        self._shared = begin, arguments, function
        self._threads, self._memory = threads, memory
        self._limit, self._traits = limit, traits
        self._arguments: dict[int, tuple[Any, ...]] = {}
        self._pending: deque[int] = deque()
        self._suspects: deque[tuple[int, bool]] = deque()  # (number, whether it must be made alone)
        self._bad: set[Hashable] = set()
        self._good: set[Hashable] = set()
        self._children: list[_Child] = []
        self._open: _Child | None = None  # the one that gets calls
        self._alone: dict[int, Call[R]] = {}

    def __enter__(self) -> Crowd[R]:
        return self

    def __exit__(self, *error: object) -> None:
        if not self._pool.is_own:
            return
        left = [*self._children, *self._alone.values()]
        for each in left:
            each.kill()
        for each in left:
            _bury(each)

    def submit(self, number: int, *arguments: Any) -> None:
        """Have a call made. `number`: of no call under way."""
        self._arguments[number] = arguments
        self._place(number)
        self._fill()

    def results(self) -> list[tuple[int, Done[R]]]:
        """Wait for the end of at least one call, if any is under way: (number, what came of it).

        Raises EndedEarlyError if the server is gone, or can start no process.
        """
        found: list[tuple[int, Done[R]]] = []
        while not found and self._arguments:
            self._fill()
            wait([*self._children, *self._alone.values()], self._stop_late())
            for number, each in list(self._alone.items()):
                if (done := each.done()) is not None:
                    del self._alone[number]
                    found.append(self._ended_alone(number, done))
            for child in list(self._children):
                found += self._heard(child)
        self._fill()
        return found

    # Which call is made where

    def _place(self, number: int) -> None:
        if self._suspicious(number):
            self._suspects.append((number, False))
        else:
            self._pending.append(number)

    def _suspicious(self, number: int) -> bool:
        return bool(self._bad) and not self._bad.isdisjoint(self._traits(number))

    def _next_suspect(self) -> int | None:
        """Take a suspect, or return None. Those that were cleared wait for a thread again."""
        while self._suspects:
            number, always = self._suspects.popleft()
            if always or self._suspicious(number):
                return number
            self._pending.append(number)
        return None

    def _fill(self) -> None:
        """Keep every processor busy. At most half of them have suspects if other calls wait."""
        busy = sum(len(child.running) for child in self._children if child is not self._open)
        room = self._threads - busy - len(self._alone)
        most = max(1, self._threads // 2) if self._pending else self._threads
        while room > 0 and len(self._alone) < most and (number := self._next_suspect()) is not None:
            self._start_alone(number)
            room -= 1
        if room > 0 and self._pending:
            child = self._open = self._open or self._start_child()
            # Some calls wait in the child, so no thread is idle. While suspects run, fewer threads work.
            most = 2 * room if room == self._threads else room
            while self._pending and len(child.sent) < most:
                number = self._pending.popleft()
                child.sent[number], child.heard = None, time.monotonic()
                child.tell((number, self._arguments[number]))

    def _start_child(self) -> _Child:
        child = _Child(self._pool, work, (*self._shared, self._threads), self._limits(self._threads))
        self._children.append(child)
        return child

    def _start_alone(self, number: int) -> None:
        limits = msgspec.structs.replace(self._limits(1), seconds=self._limit(number))
        given = *self._shared, *self._arguments[number]
        self._alone[number] = self._pool.submit(alone, *given, gives=self._gives, limits=limits)

    def _limits(self, threads: int) -> Limits:
        return Limits(memory=None if self._memory is None else threads * (self._memory + PER_THREAD))

    # What came of it

    def _heard(self, child: _Child) -> list[tuple[int, Done[R]]]:
        found = [done for body in child.hear() for done in self._take(child, body)]
        if child.death is not None:
            self._bury(child)
        return found

    def _take(self, child: _Child, body: bytes) -> list[tuple[int, Done[R]]]:
        if child.how != "nonsense":
            try:
                return self._said(child, decode(body, _Said))
            except (FrameError, KeyError):  # it wrote to its answers: what it was doing is called again alone
                child.kill("nonsense")
        return []

    def _said(self, child: _Child, said: _Said) -> list[tuple[int, Done[R]]]:
        number, child.heard = said.number, time.monotonic()
        if said.reply is None:
            _ = child.sent[number]  # raises for another call
            child.sent[number] = child.heard
            return []
        done = done_by(said.reply, self._gives, Death("ended", 0, said.printed))
        if done.death is not None:
            raise FrameError("expected an answer")
        del child.sent[number]
        return [self._survived(number, done)]

    def _survived(self, number: int, done: Done[R]) -> tuple[int, Done[R]]:
        traits = set(self._traits(number))
        self._good |= traits
        self._bad -= traits
        del self._arguments[number]
        return number, done

    def _ended_alone(self, number: int, done: Done[R]) -> tuple[int, Done[R]]:
        if done.death is None:
            return self._survived(number, done)
        if done.death.how == "lost":
            raise EndedEarlyError(f"cannot go on: {done.death}; run it again")
        if new := set(self._traits(number)) - self._good - self._bad:
            self._bad |= new
            waiting, self._pending = self._pending, deque()
            for each in waiting:
                self._place(each)
        del self._arguments[number]
        return number, done

    def _bury(self, child: _Child) -> None:
        """After a child's end: what it was doing is called again alone, and what waited there by another."""
        self._children.remove(child)
        if child is self._open:
            self._open = None
        again = list(child.running) or list(child.sent)  # no other child would begin what this one has not
        self._suspects.extendleft((number, True) for number in reversed(again))
        self._pending.extendleft(number for number in reversed(child.sent) if number not in again)

    def _stop_late(self) -> float:
        """A child with a late call gets no more, ends what its other threads have, and is killed.

        One that begins none of its calls is late as well. Returns the seconds until another call is late.
        """
        now = time.monotonic()
        ends: list[float] = []
        for child in self._children:
            began = child.running or dict.fromkeys(child.sent, child.heard + GRACE)
            left = [each + self._limit(number) - now for number, each in began.items()]
            in_time = [each for each in left if each > 0]
            if len(in_time) < len(left) and child is self._open:
                self._open = None
            if child is not self._open and not in_time:
                child.kill()
            ends += in_time
        return min(ends, default=math.inf)


def _bury(child: Child) -> None:
    while child.death is None:
        wait([child])
        child.hear()

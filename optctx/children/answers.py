"""What comes of a call, and what takes it as it comes from a child."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from optctx.children.death import Death
from optctx.children.frames import FrameError, Frames, decode, encode
from optctx.children.messages import Close, Ended, Failed, Gave, Kill, NoMemory, Reply, Tell, ToServer

__all__ = ["Answer", "Call", "Conversation", "Done", "Listener", "Talk", "death_of"]

R = TypeVar("R")


@dataclass(frozen=True)
class Done(Generic[R]):
    """What came of a call. `value` counts if there is neither an error nor a death.

    error: The words of an OptctxError that the function raised; "" for none.
    death: How the child ended if it did not answer.
    printed: The end of what it printed. `cut`: whether that may lack its end (`ulimit -f`).
    """

    value: R | None = None
    error: str = ""
    death: Death | None = None
    printed: str = ""
    cut: bool = False


class Listener(Protocol):
    """Gets what a child says, and its end, on the thread that reads for the pool. Must not wait or raise."""

    def said(self, data: bytes) -> None: ...

    def ended(self, end: Ended | Death) -> None:
        """`Death`: the server is gone."""


@dataclass(frozen=True)
class Call(Generic[R]):
    """A call under way. `future` has its `Done`, whatever happens, and is never cancelled."""

    future: Future[Done[R]]
    kill: Callable[[], None]

    def result(self, seconds: float | None = None) -> Done[R]:
        """Wait for the end. If the wait is interrupted or takes too long, the child is killed."""
        try:
            return self.future.result(seconds)
        except BaseException:
            self.kill()
            raise


@dataclass(frozen=True)
class Conversation:
    """A child that talks."""

    send: Callable[[ToServer], None]
    number: int

    def tell(self, message: object) -> None:
        """Tell it something. Does nothing if it has ended."""
        self.tell_bytes(encode(message))

    def tell_bytes(self, data: bytes) -> None:
        """Write to what it reads."""
        self.send(Tell(self.number, data))

    def close(self) -> None:
        """Tell it that there is no more."""
        self.send(Close(self.number))

    def kill(self) -> None:
        """End it with what it started."""
        self.send(Kill(self.number))


class Talk(Generic[R]):
    """A child that talks to one thread. A context manager: leaving it ends the child."""

    def __init__(self, gives: type[R]) -> None:
        self._gives = gives
        self._frames = Frames()
        self._mail: SimpleQueue[bytes | Ended | Death] = SimpleQueue()
        self._heard: list[bytes] = []
        self.child: Conversation | None = None

    def __enter__(self) -> Talk[R]:
        return self

    def __exit__(self, *error: object) -> None:
        if self.child is not None:
            self.child.kill()

    def hear(self, seconds: float | None = None) -> R | Death:
        """Wait for what it says next, or for its death. Raises TimeoutError."""
        try:
            while not self._heard:
                try:
                    mail = self._mail.get(timeout=seconds)
                except Empty:
                    raise TimeoutError from None
                if not isinstance(mail, bytes):
                    return mail if isinstance(mail, Death) else death_of(mail)
                self._heard += self._frames.feed(mail)
            return decode(self._heard.pop(0), self._gives)
        except FrameError:
            return Death("nonsense", 0, "")

    def said(self, data: bytes) -> None:
        """Take bytes, on the thread that reads."""
        self._mail.put(data)

    def ended(self, end: Ended | Death) -> None:
        """Take its end, on the thread that reads."""
        self._mail.put(end)


def death_of(end: Ended) -> Death:
    """The death of a child that did not answer."""
    if end.problem:
        return Death("lost", 0, end.problem)
    how: Any = "timed out" if end.late else "exited" if end.status >= 0 else "killed"
    return Death(how, end.status, end.printed)


class Answer(Generic[R]):
    """Takes a child's answer to one call."""

    def __init__(self, gives: type[R], kill: Callable[[], None]) -> None:
        self.future: Future[Done[R]] = Future()
        self.future.set_running_or_notify_cancel()
        self._gives, self.kill = gives, kill
        self._frames = Frames()
        self._bodies: list[bytes] = []
        self._nonsense = False

    def said(self, data: bytes) -> None:
        if self._nonsense:
            return
        try:
            self._bodies += self._frames.feed(data)
        except FrameError:
            self._nonsense = True
        if self._nonsense or len(self._bodies) > 1:
            self._nonsense = True
            self.kill()

    def ended(self, end: Ended | Death) -> None:
        try:
            done = self._done(end)
        except FrameError:
            assert isinstance(end, Ended)
            done = Done(death=Death("nonsense", end.status, end.printed), printed=end.printed, cut=end.cut)
        self.future.set_result(done)

    def _done(self, end: Ended | Death) -> Done[R]:
        if isinstance(end, Death):
            return Done(death=end)
        if self._nonsense:
            raise FrameError
        if not self._bodies:
            return Done(death=death_of(end), printed=end.printed, cut=end.cut)
        reply: Reply = decode(self._bodies[0], Reply)  # type: ignore[arg-type]
        match reply:
            case Gave():
                return Done(decode(bytes(reply.value), self._gives), printed=end.printed, cut=end.cut)
            case Failed():
                return Done(error=reply.error, printed=end.printed, cut=end.cut)
            case NoMemory():
                death = Death("out of memory", end.status, end.printed)
            case _:
                death = Death("lost", 0, reply.error)
        return Done(death=death, printed=end.printed, cut=end.cut)

"""What comes of a call, and what takes it as it comes from a child."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from optctx.children.death import Death
from optctx.children.frames import FrameError, Frames, decode, encode
from optctx.children.messages import Close, Ended, Kill, Reply, Tell, ToServer

__all__ = ["Call", "Done", "Line", "Listener", "Talk", "death_of"]

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


@dataclass(frozen=True)
class Line:
    """To a child."""

    send: Callable[[ToServer], None]
    number: int

    def tell(self, message: object) -> None:
        """Tell it something, if it talks. Does nothing if it has ended."""
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


class Listener:
    """Hears one child, on the thread that reads for the pool. Kills it if it writes no frames."""

    line: Any  # to the child

    def __init__(self) -> None:
        self._frames = Frames()
        self.nonsense = False

    def heard(self, body: bytes) -> None:
        """Take the body of a frame. Must not wait. Raises FrameError for one that is not expected."""
        raise NotImplementedError

    def ended(self, end: Ended) -> None:
        """Take its end. Must not wait or raise."""
        raise NotImplementedError

    def said(self, data: bytes) -> None:
        """Take bytes."""
        if self.nonsense:
            return
        try:
            for body in self._frames.feed(data):
                self.heard(body)
        except FrameError:
            self.nonsense = True
            self.line.kill()


class Call(Listener, Generic[R]):
    """A call under way. `future` has its `Done`, whatever happens, and is never cancelled."""

    def __init__(self, gives: type[R]) -> None:
        super().__init__()
        self.future: Future[Done[R]] = Future()
        self.future.set_running_or_notify_cancel()
        self._gives = gives
        self._answer: bytes | None = None

    def result(self, seconds: float | None = None) -> Done[R]:
        """Wait for the end. If the wait is interrupted or takes too long, the child is killed."""
        try:
            return self.future.result(seconds)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End the child with what it started."""
        self.line.kill()

    def heard(self, body: bytes) -> None:
        if self._answer is not None:
            raise FrameError("expected one answer, found another")
        self._answer = body

    def ended(self, end: Ended) -> None:
        done = Done[R](printed=end.printed, cut=end.cut)
        try:
            done = self._done(end, done)
        except FrameError:
            done = replace(done, death=Death("nonsense", end.status, end.printed))
        self.future.set_result(done)

    def _done(self, end: Ended, done: Done[R]) -> Done[R]:
        if end.problem or (self._answer is None and not self.nonsense):
            return replace(done, death=death_of(end))
        if self._answer is None or self.nonsense:
            raise FrameError("expected an answer")
        reply = decode(self._answer, Reply)
        match reply.how:
            case "gave":
                return replace(done, value=decode(bytes(reply.value), self._gives))
            case "failed":
                return replace(done, error=reply.error)
            case "raised":
                return replace(done, death=Death("lost", 0, reply.error))
        return replace(done, death=Death("out of memory", end.status, end.printed))


class Talk(Listener, Generic[R]):
    """A child that talks to one thread. A context manager: leaving it ends the child."""

    def __init__(self, gives: type[R]) -> None:
        super().__init__()
        self._mail: SimpleQueue[bytes | Ended] = SimpleQueue()
        self._gives = gives

    def __enter__(self) -> Talk[R]:
        return self

    def __exit__(self, *error: object) -> None:
        self.line.kill()

    def hear(self, seconds: float | None = None) -> R | Death:
        """Wait for what it says next, or for its death. Raises TimeoutError."""
        try:
            mail = self._mail.get(timeout=seconds)
            if isinstance(mail, bytes):
                return decode(mail, self._gives)
        except Empty:
            raise TimeoutError from None
        except FrameError:
            return Death("nonsense", 0, "")
        return Death("nonsense", mail.status, mail.printed) if self.nonsense else death_of(mail)

    def heard(self, body: bytes) -> None:
        self._mail.put(body)

    def ended(self, end: Ended) -> None:
        self._mail.put(end)


def death_of(end: Ended) -> Death:
    """The death of a child that did not answer."""
    if end.problem:
        return Death("lost", end.status, end.problem)
    how: Any = "timed out" if end.late else "exited" if end.status >= 0 else "killed"
    return Death(how, end.status, end.printed)

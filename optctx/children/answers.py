"""What comes of a call, and what takes it as it comes from a child."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from msgspec import structs

from optctx.children.death import Death
from optctx.children.messages import FrameError, Frames, Kill, Reply, Tell, ToServer, decode, encode

R = TypeVar("R")


@dataclass(frozen=True)
class Done(Generic[R]):
    """What came of a call. `value` counts if there is neither an error nor a death.

    error: The words of an OptctxError that the function raised; "" for none.
    death: How the child ended if it did not answer.
    printed: The end of what it printed. `cut`: as of a death.
    """

    value: R | None = None
    error: str = ""
    death: Death | None = None
    printed: str = ""
    cut: bool = False


class Listener:
    """Hears one child, on the thread that reads for the pool. Kills it if it writes no frames."""

    # Set by the pool: where orders go, and the child's number.
    send: Callable[[ToServer], None]
    number: int

    def __init__(self, heard: Callable[[bytes], None], ended: Callable[[Death], None]) -> None:
        """Take two functions, which must not wait.

        Args:
            heard: Takes the body of a frame. Raises FrameError for one that is not expected.
            ended: Takes the child's end. Must not raise.
        """
        self._heard, self._ended = heard, ended
        self._frames = Frames()
        self.nonsense = False

    def tell(self, message: object) -> None:
        """Tell the child something. Does nothing if it has ended."""
        self.send(Tell(self.number, encode(message)))

    def kill(self) -> None:
        """End the child with what it started."""
        self.send(Kill(self.number))

    def said(self, data: bytes) -> None:
        """Take bytes of the child's."""
        if self.nonsense:
            return
        try:
            for body in self._frames.feed(data):
                self._heard(body)
        except FrameError:
            self.kill_for_nonsense()

    def kill_for_nonsense(self) -> None:
        """Hear no more of it."""
        self.nonsense = True
        self.kill()

    def ended(self, end: Death) -> None:
        """Take the child's end."""
        nonsense = self.nonsense and end.how != "lost"
        tell = self._ended
        del self._heard, self._ended  # they may lead back here, which would keep the answer
        tell(structs.replace(end, how="nonsense") if nonsense else end)


class Call(Listener, Generic[R]):
    """A call under way. `future` has its `Done`, whatever happens, and is never cancelled."""

    def __init__(self, gives: type[R]) -> None:
        super().__init__(self._take, self._finish)
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

    def _take(self, body: bytes) -> None:
        if self._answer is not None:
            raise FrameError("expected one answer, found another")
        self._answer = body

    def _finish(self, end: Death) -> None:
        done = Done[R](death=end, printed="" if end.how == "lost" else end.printed, cut=end.cut)
        if self._answer is not None and end.how not in ("lost", "nonsense"):
            try:
                done = done_by(decode(self._answer, Reply), self._gives, end)
            except FrameError:
                done = replace(done, death=structs.replace(end, how="nonsense"))
        self.future.set_result(done)


def done_by(reply: Reply, gives: type[R], end: Death) -> Done[R]:
    """What came of a call that was answered. Raises FrameError for a value of another type than `gives`."""
    done = Done[R](printed=end.printed, cut=end.cut)
    match reply.how:
        case "gave":
            return replace(done, value=decode(bytes(reply.value), gives))
        case "failed":
            return replace(done, error=reply.error)
        case "raised":
            return replace(done, death=Death("lost", 0, reply.error))
    return replace(done, death=structs.replace(end, how="out of memory"))

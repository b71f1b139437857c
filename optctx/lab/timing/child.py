"""A worker as its helper sees it: told, listened to until a deadline, and buried."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from typing import NoReturn, TypeVar

from optctx.children.death import cause_of_end, printed_to
from optctx.children.frames import FrameError, Frames, decode
from optctx.lab.timing.results import Outcome
from optctx.lab.timing.worker import ORDER, SAMPLE, settle

__all__ = ["Child", "DeadError", "end_children"]

_CHUNK = 1 << 20  # bytes read at once
_GRACE = 1.0  # seconds between the end of its answers and its own
_STEP = 0.005
# Times its limit that a child may take if other processes have its processor.
_PATIENCE = 30
_FOREIGN = Outcome("crashed", "it wrote to a descriptor that is not its own")
T = TypeVar("T")
Work = Callable[[int, int], NoReturn]  # with the descriptors of requests and answers


class DeadError(Exception):
    """A worker came to its end, or was stopped; `outcome` says how."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


class Child:
    """A fork of this process that does some work. A context manager: leaving it ends the child."""

    def __init__(self, work: Work, processor: int | None, closing: tuple[int, ...]) -> None:
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self._printed = os.memfd_create("printed")
        self._frames = Frames()
        self._said = ""
        self._used = 0.0  # seconds that it had run when it was told something
        helper = os.getpid()
        self._pid = os.fork()
        if not self._pid:
            try:
                os.setpgid(0, 0)
                settle(helper, processor, (*closing, self._requests, self._answers), self._printed)
                work(requests, answers)
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                os._exit(1)
        with contextlib.suppress(OSError):  # the child does the same; who is first counts
            os.setpgid(self._pid, self._pid)
        _living.add(self)
        os.close(requests)
        os.close(answers)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> int:
        """Kill the child and what it started, if that is still there. Its exit status, below 0 a signal."""
        if not self._pid:
            return 0
        pid, self._pid = self._pid, 0
        _living.discard(self)
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)  # not reaped yet, so the number is its own
        _, status = os.waitpid(pid, 0)
        self._said = printed_to(self._printed)
        for descriptor in (self._requests, self._answers, self._printed):
            os.close(descriptor)
        return os.waitstatus_to_exitcode(status)

    def tell(self, data: bytes) -> None:
        self._used = self._status()[1]
        with contextlib.suppress(BrokenPipeError):  # it has ended; the end of its answers says so
            os.write(self._requests, data)

    def answer(self, seconds: float, gives: type[T]) -> T:
        """The next message. Raises DeadError if none comes in that time, which does not count what other
        processes have the processor for.
        """
        deadline = time.monotonic() + seconds
        begun = False
        while True:
            try:
                found = self._frames.feed(self._read(_CHUNK, deadline, seconds))
                if found:
                    return decode(found[0], gives)
            except DeadError as dead:
                if begun and dead.outcome.state == "crashed":
                    raise DeadError(_FOREIGN) from None
                raise
            except FrameError:  # it is no message
                self.end()
                raise DeadError(_FOREIGN) from None
            begun = True

    def sample(self, calls: int, *, warm: bool, seconds: float) -> tuple[int, int]:
        """Nanoseconds of processor time and of wall time. Raises DeadError."""
        self.tell(ORDER.pack(calls, warm))
        deadline = time.monotonic() + seconds
        data = b""
        while len(data) < SAMPLE.size:
            data += self._read(SAMPLE.size - len(data), deadline, seconds)
        cpu, wall = SAMPLE.unpack(data)
        return cpu, wall

    def _read(self, size: int, deadline: float, seconds: float) -> bytes:
        last = deadline + _PATIENCE * seconds
        while not select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))[0]:
            state, used = self._status()
            if state not in "RD" or used - self._used >= seconds or time.monotonic() >= last:
                self.end()
                raise DeadError(Outcome("timed out", f"it ran for longer than {seconds:.3g} s"))
            deadline = time.monotonic() + max(_STEP, (seconds - used + self._used) / 2)
        if data := os.read(self._answers, size):
            return data
        raise DeadError(Outcome("crashed", self._bury()))

    def _status(self) -> tuple[str, float]:
        """What the child is doing ("R": it runs, or waits for the processor), and the seconds that it ran."""
        try:
            with open(f"/proc/{self._pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return "Z", 0.0
        return fields[0].decode(), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _bury(self) -> str:
        """Why it ended, or closed its answers and went on."""
        if not self._pid:
            return "it has ended"
        deadline = time.monotonic() + _GRACE
        while os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if time.monotonic() > deadline:
                self.end()
                return "it closed a descriptor that is not its own"
            time.sleep(_STEP)
        status = self.end()
        return cause_of_end(status, self._said)


_living: set[Child] = set()


def end_children() -> None:
    """Kill every child that lives."""
    for child in list(_living):
        child.end()

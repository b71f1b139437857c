"""A process that calls one object: a fork of the helper, on one processor. Told, listened to, and buried.

What the kernel does stays there: it may crash, hang, write anywhere, print and use up memory.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import select
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from optctx.children.child import Channel, Child
from optctx.children.death import cause_of_end
from optctx.children.frames import CHUNK, FrameError, Frames, decode
from optctx.children.limits import Limits, address_space, lower_limit
from optctx.children.messages import Place, Start
from optctx.errors import OptctxError
from optctx.lab.objects import ObjectError, load
from optctx.lab.timing.arrays import Arguments
from optctx.lab.timing.caller import TIMES, load_caller
from optctx.lab.timing.harness import Harness
from optctx.lab.timing.results import Outcome

__all__ = ["DeadError", "Kernel", "Worker", "check_object", "end_workers", "serve_samples"]

_ORDER = struct.Struct("<QB")  # calls; whether to make one before them
_SAMPLE = struct.Struct("<qq")  # nanoseconds of processor time and of wall time
_MOST_WRITTEN = 1 << 28  # bytes of a file
_ROOM = 1 << 32  # bytes of address space beyond the helper's and the arrays'
_GRACE = 1.0  # seconds between the end of its answers and its own
_STEP = 0.005
# Times its limit that a worker may take if other processes have its processor.
_PATIENCE = 30
_FOREIGN = Outcome("crashed", "it wrote to a descriptor that is not its own")
T = TypeVar("T")


class DeadError(Exception):
    """A worker came to its end, or was stopped; `outcome` says how."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


class Worker:
    """A worker as its helper sees it. A context manager: leaving it ends the worker."""

    def __init__(
        self, work: Callable[[Channel], object], processor: int | None, closing: Sequence[int], most: int
    ) -> None:
        """`closing`: descriptors of the helper. `most`: bytes of one answer of the worker."""
        limits = Limits(processor=processor, files=_MOST_WRITTEN)
        start = Start(0, "", msgspec.Raw(), limits, Place(None, {}), talks=True)
        others = [each for worker in _living for each in worker._child.descriptors]
        self._child: Child = Child(start, lambda channel: _work(work, channel), [*closing, *others])
        self._frames = Frames(most)
        self._used = 0.0  # seconds that it had run when it was told something
        self._cause = ""  # of its end
        _living.add(self)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> str:
        """Kill the worker and what it started, if that is still there. Return the cause of its end."""
        if self in _living:
            _living.discard(self)
            ended = self._child.bury()
            self._cause = cause_of_end(ended.status, ended.printed)
        return self._cause

    def tell(self, data: bytes) -> None:
        self._used = self._status()[1]
        self._child.tell(data)

    def answer(self, seconds: float, kind: type[T]) -> T:
        """The next message. Raises DeadError for another one, and if none comes in that time.

        The time that other processes have the processor does not count.
        """
        deadline = time.monotonic() + seconds
        begun = False
        while True:
            try:
                if found := self._frames.feed(self._read(CHUNK, deadline, seconds)):
                    return decode(found[0], kind)
            except DeadError as dead:
                if begun and dead.outcome.state == "crashed":
                    raise DeadError(_FOREIGN) from None
                raise
            except FrameError:
                raise self.foreign() from None
            begun = True

    def foreign(self) -> DeadError:
        """End a worker whose kernel has written to the descriptor of its answers. Returns what to raise."""
        self.end()
        return DeadError(_FOREIGN)

    def sample(self, calls: int, *, warm: bool, seconds: float) -> tuple[int, int]:
        """Nanoseconds of processor time and of wall time. Raises DeadError."""
        self.tell(_ORDER.pack(calls, warm))
        deadline = time.monotonic() + seconds
        data = b""
        while len(data) < _SAMPLE.size:
            data += self._read(_SAMPLE.size - len(data), deadline, seconds)
        cpu, wall = _SAMPLE.unpack(data)
        return cpu, wall

    def _read(self, size: int, deadline: float, seconds: float) -> bytes:
        if self not in _living:
            raise DeadError(Outcome("crashed", "it has ended"))
        last, answers = deadline + _PATIENCE * seconds, self._child.hearing
        while not select.select([answers], [], [], max(0.0, deadline - time.monotonic()))[0]:
            state, used = self._status()
            if state not in "RD" or used - self._used >= seconds or time.monotonic() >= last:
                self.end()
                raise DeadError(Outcome("timed out", f"it ran for longer than {seconds:.3g} s"))
            deadline = time.monotonic() + max(_STEP, (seconds - used + self._used) / 2)
        if data := os.read(answers, size):
            return data
        raise DeadError(Outcome("crashed", self._bury()))

    def _status(self) -> tuple[str, float]:
        """What it is doing ("R": it runs, or waits for the processor), and the seconds that it ran."""
        try:
            with open(f"/proc/{self._child.pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return "Z", 0.0
        return fields[0].decode(), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _bury(self) -> str:
        """Why it ended, or closed its answers and went on."""
        deadline = time.monotonic() + _GRACE
        while os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if time.monotonic() > deadline:
                self.end()
                return "it closed a descriptor that is not its own"
            time.sleep(_STEP)
        return self.end()


_living: set[Worker] = set()


def end_workers() -> None:
    """Kill every worker that lives."""
    for worker in list(_living):
        worker.end()


# In the worker


@dataclass(frozen=True)
class Kernel:
    """What a worker calls. `caller`: the object that calls; `layout`: seeds where the arrays are; `shift`:
    bytes by which the code is moved; `filler`: the byte around arrays and below the stack.
    """

    harness: Harness
    contents: Sequence[bytes]  # of the arrays
    caller: bytes
    code: bytes
    layout: int
    shift: int
    filler: int


def _work(work: Callable[[Channel], object], channel: Channel) -> None:
    gc.disable()
    with open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), 1)
    try:
        work(channel)
    except MemoryError:  # the child would answer with a frame, where samples are expected
        raise OptctxError("there is not enough memory") from None


class _Calls:
    """An object in memory with its arguments, ready to be called."""

    def __init__(self, kernel: Kernel) -> None:
        size = address_space() + _ROOM + 2 * sum(map(len, kernel.contents))
        lower_limit(resource.RLIMIT_AS, size)
        self._caller = load_caller(kernel.caller)
        self.arguments = Arguments(kernel.harness, kernel.contents, kernel.layout, kernel.filler)
        self._times: Any = (ctypes.c_int64 * TIMES)()
        self._filler = kernel.filler
        loaded = load(kernel.code, kernel.harness.libraries, kernel.shift)
        self._function = loaded.address(kernel.harness.entry)

    def call(self, calls: int) -> tuple[int, int]:
        """Nanoseconds of processor time and of wall time."""
        given, times = self.arguments, self._times
        self._caller(self._function, given.words, given.result, calls, ctypes.byref(times), self._filler)
        cpu, cpu_after, wall, wall_after = (
            times[i] * 1_000_000_000 + times[i + 1] for i in range(0, TIMES, 2)
        )
        return cpu_after - cpu, wall_after - wall


def check_object(kernel: Kernel, channel: Channel) -> None:
    """Load and answer "", or why it cannot be loaded. Then call once and answer with the outputs."""
    calls = _load(kernel, channel)
    if calls is not None and os.read(channel.told, 1):
        calls.call(1)
        channel.send(calls.arguments.outputs())


def serve_samples(kernel: Kernel, channel: Channel) -> None:
    """Load and answer "", or why it cannot be loaded. Then take a sample for each order."""
    calls = _load(kernel, channel)
    if calls is None:
        return
    calls.call(1)
    calls.arguments.restore_changed_only()
    while len(order := os.read(channel.told, _ORDER.size)) == _ORDER.size:
        count, warm = _ORDER.unpack(order)
        calls.arguments.restore()
        if warm:
            calls.call(1)
            calls.arguments.restore()
        os.write(channel.said, _SAMPLE.pack(*calls.call(count)))


def _load(kernel: Kernel, channel: Channel) -> _Calls | None:
    calls, problem = None, ""
    try:
        calls = _Calls(kernel)
    except ObjectError as error:
        problem = f"it cannot be loaded: {error}"
    except MemoryError:
        problem = "there is not enough memory for the arrays"
    channel.send(problem)
    return calls

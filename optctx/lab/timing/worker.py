"""A process that calls one object: a fork of the helper, on one processor. Told, listened to, and buried.

What the kernel does stays there: it may crash, hang, write anywhere, print and use up memory.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import select
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from optctx.children.child import Channel, Child
from optctx.children.death import cause_of_end
from optctx.children.frames import CHUNK, FrameError, Frames, decode, encode
from optctx.children.limits import Limits, address_space, lower_limit
from optctx.children.messages import Place, Start
from optctx.errors import OptctxError
from optctx.lab.objects import ObjectError, load
from optctx.lab.timing.arrays import Arguments, Outputs
from optctx.lab.timing.caller import TIMES, load_caller
from optctx.lab.timing.harness import Harness
from optctx.lab.timing.results import Outcome

_MOST_WRITTEN = 1 << 28  # bytes of a file
_ROOM = 1 << 32  # bytes of address space beyond the helper's and the arrays'
_GRACE = 1.0  # seconds between the end of its answers and its own
_STEP = 0.005
# Times its limit that a worker may take if other processes have its processor.
_PATIENCE = 30
_FOREIGN = Outcome("crashed", "it wrote to a descriptor that is not its own")
T = TypeVar("T")


class Order(Struct, frozen=True):
    """What a worker is told: calls for one sample, or None for the outputs of the first call.

    `warm`: whether a call that is not counted comes before them.
    """

    calls: int | None = None
    warm: bool = False


class DeadError(Exception):
    """A worker came to its end, or was stopped; `outcome` says how."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


class Worker:
    """A worker as its helper sees it. A context manager: leaving it ends the worker."""

    def __init__(
        self, make: Callable[[], Kernel], processor: int | None, closing: Sequence[int], most: int
    ) -> None:
        """`make`: loads what it calls, there. `closing`: descriptors of the helper. `most`: bytes of one
        answer of the worker, which has the arrays.
        """
        limits = Limits(processor=processor, files=_MOST_WRITTEN)
        start = Start(0, "", msgspec.Raw(), limits, Place(None, {}), talks=True)
        others = [each for worker in _living for each in worker._child.descriptors]
        self._child: Child = Child(start, partial(_serve, make, 2 * most), [*closing, *others])
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

    def load(self, seconds: float) -> None:
        """Wait until it has loaded its object. Raises DeadError, also for one that cannot be loaded."""
        if problem := self._answer(seconds, str):
            raise DeadError(Outcome("failed", problem))

    def outputs(self, seconds: float) -> Outputs:
        """What the first call leaves. Raises DeadError."""
        return self._ask(Order(), seconds, Outputs)

    def sample(self, calls: int, *, warm: bool, seconds: float) -> tuple[int, int]:
        """Nanoseconds of processor time and of wall time. Raises DeadError."""
        return self._ask(Order(calls, warm), seconds, tuple[int, int])

    def _ask(self, order: Order, seconds: float, gives: type[T]) -> T:
        self._used = self._status()[1]
        self._child.tell(encode(order))
        return self._answer(seconds, gives)

    def _answer(self, seconds: float, gives: type[T]) -> T:
        """The next message. Raises DeadError for another one, and if none comes in that time.

        The time that other processes have the processor does not count.
        """
        deadline = time.monotonic() + seconds
        begun = False
        while True:
            try:
                if found := self._frames.feed(self._read(deadline, seconds)):
                    return decode(found[0], gives)
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

    def _read(self, deadline: float, seconds: float) -> bytes:
        if self not in _living:
            raise DeadError(Outcome("crashed", "it has ended"))
        last, answers = deadline + _PATIENCE * seconds, self._child.hearing
        while not select.select([answers], [], [], max(0.0, deadline - time.monotonic()))[0]:
            state, used = self._status()
            if state not in "RD" or used - self._used >= seconds or time.monotonic() >= last:
                self.end()
                raise DeadError(Outcome("timed out", f"it ran for longer than {seconds:.3g} s"))
            deadline = time.monotonic() + max(_STEP, (seconds - used + self._used) / 2)
        if data := os.read(answers, CHUNK):
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


class Kernel:
    """An object in memory with its arguments, ready to be called. `caller`: the object that calls; `layout`:
    seeds where the arrays are; `shift`: bytes by which the code is moved; `filler`: the byte around arrays
    and below the stack.
    """

    def __init__(
        self,
        harness: Harness,
        contents: Sequence[bytes],
        caller: bytes,
        code: bytes,
        *,
        layout: int = 0,
        shift: int = 0,
        filler: int = 0,
    ) -> None:
        """Raises ObjectError for an object that cannot be loaded."""
        self._caller = load_caller(caller)
        self._arguments = Arguments(harness, contents, layout, filler)
        self._times: Any = (ctypes.c_int64 * TIMES)()
        self._filler = filler
        self._new = True
        self._function = load(code, harness.libraries, shift).address(harness.entry)

    def call(self, calls: int) -> tuple[int, int]:
        """Nanoseconds of processor time and of wall time."""
        given, times = self._arguments, self._times
        self._caller(self._function, given.words, given.result, calls, ctypes.byref(times), self._filler)
        cpu, cpu_after, wall, wall_after = (
            times[i] * 1_000_000_000 + times[i + 1] for i in range(0, TIMES, 2)
        )
        return cpu_after - cpu, wall_after - wall

    def answer(self, order: Order) -> Outputs | tuple[int, int]:
        """Do what is ordered. The first call for a sample shows which arrays have to be restored."""
        given = self._arguments
        if order.calls is None:
            self.call(1)
            return given.outputs()
        if self._new:
            self.call(1)
            given.restore_changed_only()
            self._new = False
        given.restore()
        if order.warm:
            self.call(1)
            given.restore()
        return self.call(order.calls)


def _serve(make: Callable[[], Kernel], room: int, channel: Channel) -> None:
    """Load the object, and say "", or why it cannot be loaded. Then answer each Order."""
    gc.disable()
    lower_limit(resource.RLIMIT_AS, address_space() + _ROOM + room)
    with open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), 1)
    try:
        kernel = make()
    except ObjectError as error:
        channel.send(f"it cannot be loaded: {error}")
        return
    except MemoryError:
        channel.send("there is not enough memory for the arrays")
        return
    channel.send("")
    try:
        for order in channel.hear(Order):
            channel.send(kernel.answer(order))
    except MemoryError:  # the child would answer with a frame of its own
        raise OptctxError("there is not enough memory") from None

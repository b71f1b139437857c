"""The helper process of a bench: it holds the processor's lock, and forks a worker for each object it runs.

One thread, because forking is only sound in a process with one thread. It has never loaded LLVM, so forks are
small, and nothing that a compilation left behind is in them.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, TypeVar

from msgspec import Struct, field

from optctx.children.child import Channel
from optctx.children.spawning import STOP, end_when_told, end_with_parent
from optctx.errors import EndedEarlyError, OptctxError
from optctx.lab.timing.arrays import Outputs, array_bytes, compare
from optctx.lab.timing.harness import Array, Harness
from optctx.lab.timing.processors import ProcessorLock
from optctx.lab.timing.results import Clock, Outcome, Tolerance
from optctx.lab.timing.worker import DeadError, Kernel, Worker, end_workers

__all__ = [
    "AGAIN",
    "BASE",
    "Checked",
    "Examine",
    "Ready",
    "Refused",
    "Round",
    "Rounded",
    "Setup",
    "prepare",
    "serve",
]

T = TypeVar("T")
# The names of the base and of its second copy among objects; candidates are named by their digests.
BASE, AGAIN = "", "again"

_WORD = 8  # bytes of a returned value
_SETTLING = 120.0  # seconds in which a worker places and loads everything
_SAMPLE = 1e-3  # seconds that a sample lasts, or longer
_MOST_CALLS = 1 << 24
_LONG = 0.01  # seconds: longer calls need no call before them that fills the caches
_SHIFTS = 256  # places of the code in a page, 16 bytes apart
_ROOM = 1 << 20  # bytes of an answer beside the arrays


class Setup(Struct, frozen=True):
    """What the helper is made with. `caller`: the object that calls. `lock`: whether the processor is to be
    locked; `processor` None takes any.
    """

    harness: Harness
    base: bytes
    tolerance: Tolerance
    clock: Clock
    processor: int | None
    lock: bool
    patience: float  # seconds to wait for the processor
    timeout: float  # seconds that one call of the base may take
    caller: bytes = b""


class Ready(Struct, frozen=True, tag=True):
    """The first thing that it says."""

    process: int = 0  # its number
    processor: int = -1
    calls: int = 1  # in one sample
    sample: float = 0.0  # seconds of wall time that such a sample of the base takes


class Refused(Struct, frozen=True, tag=True):
    """Why it ends instead. `early`: what was asked for is sound, as for an EndedEarlyError."""

    error: str
    early: bool


class Examine(Struct, frozen=True, tag=True):
    """One call of an object, compared with the base. The answer is Checked."""

    name: str
    code: bytes
    seconds: float  # that the call may take


class Checked(Struct, frozen=True, tag=True):
    outcome: Outcome


class Round(Struct, frozen=True, tag=True):
    """Samples of the base, a second copy of it, and objects that were found right, in random order."""

    names: tuple[str, ...]
    seed: int
    calls: int
    samples: int  # of each
    seconds: float  # that one sample may take


class Rounded(Struct, frozen=True, tag=True):
    """`samples`: seconds by the clock that counts, in the order they were taken. `dead`: what did not live to
    the end of the round. `cpu` and `wall`: seconds of all samples.
    """

    samples: dict[str, list[float]]
    dead: dict[str, Outcome] = field(default_factory=dict)
    cpu: float = 0.0
    wall: float = 0.0


class Helper:
    """Answers the messages of one bench."""

    def __init__(self, setup: Setup, processor: int | None, descriptors: tuple[int, ...]) -> None:
        self._setup = setup
        self._processor = processor
        self._closing = descriptors
        self._contents = [array_bytes(array) for array in setup.harness.arrays]
        self._objects = {BASE: setup.base}
        self._outputs: Outputs | None = None
        self._most = sum(map(len, self._contents)) + _ROOM  # bytes of an answer, which has the outputs
        self._call = 0.0  # seconds that a call of the base takes

    def prepare(self) -> Ready:
        """Run the base. Raises OptctxError if it cannot be measured."""
        gc.freeze()  # workers share these pages
        try:
            self._outputs = self._run_once(self._setup.base, self._setup.timeout, filler=0xA5)
            second = self._run_once(self._setup.base, self._setup.timeout, filler=0x5A)
            self._check_base(self._outputs, second)
            calls, sample = self._calibrate()
        except DeadError as dead:
            raise OptctxError(f"the base cannot be measured: {dead.outcome.error}") from None
        self._call = sample / calls
        return Ready(os.getpid(), -1 if self._processor is None else self._processor, calls, sample)

    def _check_base(self, first: Outputs, second: Outputs) -> None:
        if first.outside >= 0:
            raise OptctxError(
                f"the base writes beyond the array of argument {first.outside + 1}; give it a larger shape"
            )
        difference = compare(self._setup.harness, first, second, self._setup.tolerance)
        if difference is not None:
            where = (
                "the returned value"
                if difference.argument is None
                else f"argument {difference.argument + 1}{list(difference.index)}"
            )
            raise OptctxError(
                f"the base gives different outputs for the same inputs: {where} is {difference.expected!r} "
                f"and {difference.found!r}; it reads what was never written, or beyond an array"
            )

    def answer(self, message: Examine | Round) -> Checked | Rounded:
        if isinstance(message, Examine):
            return Checked(self._examine(message))
        return self._round(message)

    # One call

    def _examine(self, message: Examine) -> Outcome:
        assert self._outputs is not None
        self._objects[message.name] = message.code
        try:
            outputs = self._run_once(message.code, message.seconds, filler=0x3C)
        except DeadError as dead:
            return dead.outcome
        difference = compare(self._setup.harness, self._outputs, outputs, self._setup.tolerance)
        return Outcome("ok") if difference is None else Outcome("wrong result", str(difference), difference)

    def _run_once(self, code: bytes, seconds: float, filler: int) -> Outputs:
        """What one call leaves. Raises DeadError, also for what cannot be loaded."""
        with self._worker(code, layout=filler, shift=0, filler=filler) as worker:
            worker.load(_SETTLING)
            outputs = worker.outputs(seconds)
            if not self._is_whole(outputs):
                raise worker.foreign()
            return outputs

    def _is_whole(self, outputs: Outputs) -> bool:
        """Whether a worker has said what the harness has. Its kernel may have said something else."""
        arguments = self._setup.harness.arguments
        wanted = {
            place: each.size
            for place, each in enumerate(arguments)
            if isinstance(each, Array) and each.output
        }
        sizes = {place: len(data) for place, data in outputs.arrays.items()}
        return sizes == wanted and len(outputs.returned) == _WORD and -1 <= outputs.outside < len(arguments)

    # Many calls

    def _calibrate(self) -> tuple[int, float]:
        """Calls in one sample of the base, and the seconds that it takes."""
        calls = self._setup.harness.repeat or 1
        with self._worker(self._setup.base, layout=0, shift=0) as worker:
            worker.load(_SETTLING)
            while True:
                limit = max(self._setup.timeout, 20 * calls * self._call)
                cpu, wall = worker.sample(calls, warm=False, seconds=limit)
                self._call = wall * 1e-9 / calls
                enough = max(cpu, wall / 50) >= _SAMPLE * 1e9  # the wall's for what waits
                if self._setup.harness.repeat or enough or calls >= _MOST_CALLS:
                    samples = [worker.sample(calls, warm=False, seconds=limit) for _ in range(3)]
                    return calls, max(1e-9, median(wall * 1e-9 for _, wall in samples))
                # By what was seen, but never far: the first calls take longer.
                calls = min(_MOST_CALLS, calls * max(2, min(16, int(_SAMPLE * 1e9 / max(cpu, 1)))))

    def _round(self, order: Round) -> Rounded:
        draw = random.Random(order.seed)
        layout = draw.getrandbits(32)  # the arrays are at the same places for all
        samples: dict[str, list[float]] = {name: [] for name in (BASE, AGAIN, *order.names)}
        dead: dict[str, Outcome] = {}
        total_cpu = total_wall = 0

        def take(worker: Worker) -> tuple[int, int]:
            return worker.sample(order.calls, warm=self._call < _LONG, seconds=order.seconds)

        with contextlib.ExitStack() as stack:
            workers: dict[str, Worker] = {}
            for name in draw.sample(list(samples), len(samples)):
                code = self._objects[BASE if name == AGAIN else name]
                worker = self._worker(code, layout=layout, shift=16 * draw.randrange(_SHIFTS))
                workers[name] = stack.enter_context(worker)
            _each(workers, dead, list(workers), lambda worker: worker.load(_SETTLING))
            _one_turn(workers, dead, draw, take)  # fills caches and is not counted
            for _ in range(order.samples):
                for name, (cpu, wall) in _one_turn(workers, dead, draw, take).items():
                    samples[name].append(max(1, cpu if self._setup.clock == "cpu" else wall) * 1e-9)
                    total_cpu, total_wall = total_cpu + cpu, total_wall + wall
        return Rounded(samples, dead, total_cpu * 1e-9, total_wall * 1e-9)

    def _worker(self, code: bytes, *, layout: int, shift: int, filler: int = 0) -> Worker:
        kernel = Kernel(self._setup.harness, self._contents, self._setup.caller, code, layout, shift, filler)
        return Worker(kernel, self._processor, self._closing, self._most)


def _one_turn(
    workers: dict[str, Worker], dead: dict[str, Outcome], draw: random.Random, step: Callable[[Worker], T]
) -> dict[str, T]:
    """Do a step with each worker, in an order that is drawn."""
    names = list(workers)
    draw.shuffle(names)
    return _each(workers, dead, names, step)


def _each(
    workers: dict[str, Worker], dead: dict[str, Outcome], names: Sequence[str], step: Callable[[Worker], T]
) -> dict[str, T]:
    """Do a step with each worker, in the order of their names. One that does not live through it is dead."""
    found = {}
    for name in names:
        try:
            found[name] = step(workers[name])
        except DeadError as death:
            dead[name] = death.outcome
            del workers[name]
    return found


def prepare() -> None:
    """Prepare a server for `serve`, whose module is imported for this."""


def serve(_: None, channel: Channel, setup: Setup) -> None:
    """Be the helper of a bench: answer Examine and Round until there is no more."""
    end_when_told(end_workers)
    end_with_parent(os.getppid(), STOP)
    with contextlib.ExitStack() as stack:
        try:
            processor = None
            if setup.lock:
                processor = stack.enter_context(ProcessorLock(setup.processor, setup.patience)).number
            helper = Helper(setup, processor, (channel.told, channel.said, channel.printed))
            ready = helper.prepare()
        except OptctxError as error:
            channel.send(Refused(str(error), isinstance(error, EndedEarlyError)))
            return
        channel.send(ready)
        messages: Any = Examine | Round
        for message in channel.hear(messages):
            channel.send(helper.answer(message))


serve.serves = True  # type: ignore[attr-defined]  # it has workers

"""The helper process of a bench: it holds the processor's lock, and forks a worker for each object it runs.

One thread, because forking is only sound in a process with one thread. It has never loaded LLVM, so forks are
small, and nothing that a compilation left behind is in them.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import random
from collections.abc import Callable
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

T = TypeVar("T")
# The names of the base and of its second copy among objects; candidates are named by their digests.
BASE, AGAIN = "", "again"

_WORD = 8  # bytes of a returned value
_SETTLING = 120.0  # seconds in which a worker places and loads everything
_SAMPLE = 1e-3  # seconds that a sample lasts, or longer
_MOST_CALLS = 1 << 24
_TURN = 0.02  # seconds of samples of one object in a round
_MOST_SAMPLES = 5  # of one object in a round
_FLOOR = 1.0  # seconds that a call or a sample may always take
_SLOWER = 20  # times as long as the base that a candidate may take
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
    """The first thing that it says. `error`: why it ends instead. `early`: as for an EndedEarlyError."""

    process: int  # its number
    processor: int = -1
    error: str = ""
    early: bool = False


class Examine(Struct, frozen=True, tag=True):
    """One call of an object, compared with the base. The answer is Checked."""

    name: str
    code: bytes


class Checked(Struct, frozen=True, tag=True):
    outcome: Outcome


class Round(Struct, frozen=True, tag=True):
    """Samples of the base, a second copy of it, and objects that were found right, in random order."""

    names: tuple[str, ...]
    seed: int


class Rounded(Struct, frozen=True, tag=True):
    """`samples`: seconds of one call by the clock that counts, in the order they were taken. `dead`: what did
    not live to the end of the round. `cpu` and `wall`: seconds of all samples.
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
        self._call = 0.0  # seconds of wall time that a call of the base takes
        self._calls = 1  # in one sample

    def prepare(self) -> Ready:
        """Run the base. Raises OptctxError if it cannot be measured."""
        gc.freeze()  # workers share these pages
        setup = self._setup
        try:
            self._outputs = first = self._run_once(setup.base, setup.timeout, filler=0xA5)
            second = self._run_once(setup.base, setup.timeout, filler=0x5A)
            if first.outside >= 0:
                raise OptctxError(
                    f"the base writes beyond the array of argument {first.outside + 1}; give it a larger "
                    "shape"
                )
            if difference := compare(setup.harness, first, second, setup.tolerance):
                raise OptctxError(
                    f"the base gives different outputs for the same inputs: {difference.where} is "
                    f"{difference.expected!r} and {difference.found!r}; it reads what was never written, or "
                    "beyond an array"
                )
            self._calibrate()
        except DeadError as dead:
            raise OptctxError(f"the base cannot be measured: {dead.outcome.error}") from None
        return Ready(os.getpid(), -1 if self._processor is None else self._processor)

    # One call

    def examine(self, message: Examine) -> Outcome:
        """Call an object once, and compare what it leaves."""
        assert self._outputs is not None
        self._objects[message.name] = message.code
        try:
            outputs = self._run_once(message.code, self._limit(1), filler=0x3C)
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

    def _limit(self, calls: int) -> float:
        """Seconds that so many calls of a candidate may take."""
        return max(_FLOOR, _SLOWER * self._call * calls)

    def _calibrate(self) -> None:
        """Find out how many calls of the base make a sample, and how long one of them takes."""
        calls = self._setup.harness.repeat or 1
        with self._worker(self._setup.base, layout=0, shift=0) as worker:
            worker.load(_SETTLING)
            while True:
                limit = max(self._setup.timeout, self._limit(calls))
                cpu, wall = worker.sample(calls, warm=False, seconds=limit)
                self._call = wall * 1e-9 / calls
                enough = max(cpu, wall / 50) >= _SAMPLE * 1e9  # the wall's for what waits
                if self._setup.harness.repeat or enough or calls >= _MOST_CALLS:
                    walls = [worker.sample(calls, warm=False, seconds=limit)[1] for _ in range(3)]
                    self._calls, self._call = calls, max(1.0, median(walls)) * 1e-9 / calls
                    return
                # By what was seen, but never far: the first calls take longer.
                calls = min(_MOST_CALLS, calls * max(2, min(16, int(_SAMPLE * 1e9 / max(cpu, 1)))))

    def round(self, order: Round) -> Rounded:
        """Take samples, each object in a process of its own."""
        draw = random.Random(order.seed)
        layout = draw.getrandbits(32)  # the arrays are at the same places for all
        samples: dict[str, list[float]] = {name: [] for name in (BASE, AGAIN, *order.names)}
        dead: dict[str, Outcome] = {}
        total_cpu = total_wall = 0

        def take(worker: Worker) -> tuple[int, int]:
            limit = self._limit(self._calls)
            return worker.sample(self._calls, warm=self._call < _LONG, seconds=limit)

        with contextlib.ExitStack() as stack:
            workers: dict[str, Worker] = {}
            for name in draw.sample(list(samples), len(samples)):
                code = self._objects[BASE if name == AGAIN else name]
                worker = self._worker(code, layout=layout, shift=16 * draw.randrange(_SHIFTS))
                workers[name] = stack.enter_context(worker)
            _one_turn(workers, dead, draw, lambda worker: worker.load(_SETTLING))
            _one_turn(workers, dead, draw, take)  # fills caches and is not counted
            for _ in range(max(1, min(_MOST_SAMPLES, int(_TURN / (self._call * self._calls))))):
                for name, (cpu, wall) in _one_turn(workers, dead, draw, take).items():
                    counted = max(1, cpu if self._setup.clock == "cpu" else wall)
                    samples[name].append(counted * 1e-9 / self._calls)
                    total_cpu, total_wall = total_cpu + cpu, total_wall + wall
        return Rounded(samples, dead, total_cpu * 1e-9, total_wall * 1e-9)

    def _worker(self, code: bytes, *, layout: int, shift: int, filler: int = 0) -> Worker:
        given = self._setup.harness, self._contents, self._setup.caller
        make = functools.partial(Kernel, *given, code, layout=layout, shift=shift, filler=filler)
        return Worker(make, self._processor, self._closing, self._most)


def _one_turn(
    workers: dict[str, Worker], dead: dict[str, Outcome], draw: random.Random, step: Callable[[Worker], T]
) -> dict[str, T]:
    """Do a step with each worker, in an order that is drawn. One that does not live through it is dead."""
    found = {}
    for name in draw.sample(list(workers), len(workers)):
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
            early = isinstance(error, EndedEarlyError)
            channel.send(Ready(os.getpid(), error=str(error), early=early))
            return
        channel.send(ready)
        messages: Any = Examine | Round
        for message in channel.hear(messages):
            examined = isinstance(message, Examine)
            channel.send(Checked(helper.examine(message)) if examined else helper.round(message))


serve.serves = True  # type: ignore[attr-defined]  # it has workers

"""The helper process of a bench: it holds the processor's lock, and forks a worker for each object it runs.

One thread, because forking is only sound in a process with one thread. It has never loaded LLVM, so forks are
small, and nothing that a compilation left behind is in them.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import random
from collections.abc import Iterable
from statistics import median
from typing import Any

from optctx.children.frames import Reader, encode, write_all
from optctx.children.spawning import answers_of_helper, end_when_told
from optctx.errors import OptctxError
from optctx.lab.timing.child import Child, DeadError, end_children
from optctx.lab.timing.inputs import array_bytes
from optctx.lab.timing.memory import Outputs
from optctx.lab.timing.outputs import compare
from optctx.lab.timing.plan import AGAIN, BASE, Checked, Examine, Ready, Round, Rounded, Setup
from optctx.lab.timing.processors import ProcessorLock
from optctx.lab.timing.results import Outcome
from optctx.lab.timing.worker import Kernel, check_object, compile_in_child, serve_samples

__all__ = ["main"]

_SETTLING = 120.0  # seconds in which a worker places and loads everything
_SAMPLE = 1e-3  # seconds that a sample lasts, or longer
_MOST_CALLS = 1 << 24
_LONG = 0.01  # seconds: longer calls need no call before them that fills the caches
_SHIFTS = 256  # places of the code in a page, 16 bytes apart


class Helper:
    """Answers the messages of one bench."""

    def __init__(self, setup: Setup, processor: int | None, descriptors: tuple[int, ...]) -> None:
        self._setup = setup
        self._processor = processor
        self._closing = descriptors
        self._contents = [array_bytes(array) for array in setup.harness.arrays]
        self._objects = {BASE: setup.base}
        self._caller = b""
        self._outputs: Outputs | None = None
        self._call = 0.0  # seconds that a call of the base takes

    def prepare(self) -> Ready:
        """Run the base. Raises OptctxError if it cannot be measured."""
        with self._fork(lambda _, answers: compile_in_child(self._setup.harness, answers)) as child:
            try:
                self._caller = child.answer(_SETTLING, bytes)
            except DeadError as dead:
                raise OptctxError(f"LLVM could not make the code that calls: {dead.outcome.error}") from None
        gc.freeze()  # children share these pages
        try:
            self._outputs = self._run_once(self._setup.base, self._setup.timeout, filler=0xA5)
            second = self._run_once(self._setup.base, self._setup.timeout, filler=0x5A)
            self._check_base(self._outputs, second)
            calls, sample = self._calibrate()
        except DeadError as dead:
            raise OptctxError(f"the base cannot be measured: {dead.outcome.error}") from None
        self._call = sample / calls
        return Ready("", -1 if self._processor is None else self._processor, calls, sample)

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
            return Checked(message.name, self._examine(message))
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
        kernel = self._kernel(code, layout=filler, shift=0, filler=filler)
        with self._fork(lambda requests, answers: check_object(kernel, requests, answers)) as child:
            _check_loaded(child)
            child.tell(b"1")
            return child.answer(seconds, Outputs)

    # Many calls

    def _calibrate(self) -> tuple[int, float]:
        """Calls in one sample of the base, and the seconds that it takes."""
        calls = self._setup.harness.repeat or 1
        with self._sampled(BASE, layout=0, shift=0) as child:
            while True:
                limit = max(self._setup.timeout, 20 * calls * self._call)
                cpu, wall = child.sample(calls, warm=False, seconds=limit)
                self._call = wall * 1e-9 / calls
                enough = max(cpu, wall / 50) >= _SAMPLE * 1e9  # the wall's for what waits
                if self._setup.harness.repeat or enough or calls >= _MOST_CALLS:
                    samples = [child.sample(calls, warm=False, seconds=limit) for _ in range(3)]
                    return calls, max(1e-9, median(wall * 1e-9 for _, wall in samples))
                # By what was seen, but never far: the first calls take longer.
                calls = min(_MOST_CALLS, calls * max(2, min(16, int(_SAMPLE * 1e9 / max(cpu, 1)))))

    def _round(self, order: Round) -> Rounded:
        draw = random.Random(order.seed)
        layout = draw.getrandbits(32)  # the arrays are at the same places for all
        samples: dict[str, list[float]] = {name: [] for name in (BASE, AGAIN, *order.names)}
        dead: dict[str, Outcome] = {}
        total_cpu = total_wall = 0
        with contextlib.ExitStack() as stack:
            forked = list(samples)
            draw.shuffle(forked)
            children = {
                name: stack.enter_context(
                    self._sampled(name, layout=layout, shift=16 * draw.randrange(_SHIFTS), check=False)
                )
                for name in forked
            }
            _each(children, dead, children, _check_loaded)
            warm = self._call < _LONG
            sample = functools.partial(_sample_each, children, dead, draw, order, warm=warm)
            sample()  # fills caches and is not counted
            for _ in range(order.samples):
                for name, cpu, wall in sample():
                    samples[name].append(self._seconds(cpu, wall))
                    total_cpu, total_wall = total_cpu + cpu, total_wall + wall
        return Rounded(samples, dead, total_cpu * 1e-9, total_wall * 1e-9)

    def _sampled(self, name: str, *, layout: int, shift: int, check: bool = True) -> Child:
        code = self._objects[BASE if name == AGAIN else name]
        kernel = self._kernel(code, layout=layout, shift=shift, filler=0)
        child = self._fork(lambda requests, answers: serve_samples(kernel, requests, answers))
        if check:
            try:
                _check_loaded(child)
            except DeadError:
                child.end()
                raise
        return child

    def _seconds(self, cpu: int, wall: int) -> float:
        return max(1, cpu if self._setup.clock == "cpu" else wall) * 1e-9

    def _kernel(self, code: bytes, *, layout: int, shift: int, filler: int) -> Kernel:
        return Kernel(self._setup.harness, self._contents, self._caller, code, layout, shift, filler)

    def _fork(self, work: Any) -> Child:
        return Child(work, self._processor, self._closing)


def _each(names: Iterable[str], dead: dict[str, Outcome], children: dict[str, Child], step: Any) -> None:
    """Do a step with each child; those that do not live through it are dead."""
    for name in list(names):
        try:
            step(children[name])
        except DeadError as death:
            dead[name] = death.outcome
            del children[name]


def _sample_each(
    children: dict[str, Child], dead: dict[str, Outcome], draw: random.Random, order: Round, *, warm: bool
) -> list[tuple[str, int, int]]:
    """Sample the children in random order: name, processor time, wall time of those that live through it."""
    names = list(children)
    draw.shuffle(names)
    found = []
    for name in names:
        try:
            found.append((name, *children[name].sample(order.calls, warm=warm, seconds=order.seconds)))
        except DeadError as death:
            dead[name] = death.outcome
            del children[name]
    return found


def _check_loaded(child: Child) -> None:
    if said := child.answer(_SETTLING, str):
        raise DeadError(Outcome("failed", said))


def _serve(answers: int) -> None:
    messages: Reader[Setup | Examine | Round] = Reader(0, Setup | Examine | Round)  # type: ignore[arg-type]
    setup = next(messages, None)
    if setup is None:
        return
    assert isinstance(setup, Setup)
    with contextlib.ExitStack() as stack:
        try:
            processor = None
            if setup.lock:
                processor = stack.enter_context(ProcessorLock(setup.processor, setup.patience)).number
            helper = Helper(setup, processor, (answers,))
            ready = helper.prepare()
        except OptctxError as error:
            write_all(answers, encode(Ready(str(error))))
            return
        write_all(answers, encode(ready))
        for message in messages:
            assert not isinstance(message, Setup)
            write_all(answers, encode(helper.answer(message)))


def main() -> int:
    """Serve a Setup, then other messages, from standard input on what is standard output now."""
    answers = answers_of_helper()
    end_when_told(end_children)
    _serve(answers)
    return 0

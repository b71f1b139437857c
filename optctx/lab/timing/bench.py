"""Check and time candidates against a base, in processes of their own, or by what a command prints."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any, TypeVar

from msgspec.structs import replace

from optctx.children.answers import Talk
from optctx.children.death import Death
from optctx.children.pool import SharedPool
from optctx.errors import EndedEarlyError, OptctxError, shown
from optctx.lab.program import NoNumberError, Programs, number_of, object_words, with_object
from optctx.lab.timing.caller import compile_caller
from optctx.lab.timing.harness import Harness
from optctx.lab.timing.helper import (
    AGAIN,
    BASE,
    Checked,
    Examine,
    Ready,
    Round,
    Rounded,
    Setup,
    prepare,
    serve,
)
from optctx.lab.timing.results import Clock, Outcome, Tolerance
from optctx.lab.timing.rounds import Rounds

T = TypeVar("T")
_GRACE = 10.0  # seconds that the helper has to end

_pool = SharedPool(prepare)


class Bench(Rounds):
    """A helper process that runs candidates against one base on one processor. A context manager, for one
    thread at a time. It can be entered again, with a new helper.

    Entering takes the processor's lock and runs the base twice. It raises OptctxError if the base crashes,
    takes longer than `timeout` seconds, or gives two different outputs; and EndedEarlyError if the processor
    stays taken for `patience` seconds. `processor`: None takes any that is free. `clock`: "cpu" counts the
    time that the processor works for the kernel, "wall" the time that goes by. Nothing that a candidate does
    reaches this process or the measurement of another candidate. `lock`: whether to take a processor at all;
    without one there is nothing to be measured, and candidates are checked only.
    """

    def __init__(
        self,
        harness: Harness,
        base: bytes,
        *,
        processor: int | None = None,
        tolerance: Tolerance | None = None,
        clock: Clock = "cpu",
        patience: float = 600.0,
        timeout: float = 10.0,
        lock: bool = True,
    ) -> None:
        if clock not in ("cpu", "wall"):
            raise OptctxError(f"a clock is 'cpu' or 'wall', found {shown(clock)}")
        for name, seconds in (("patience", patience), ("timeout", timeout)):
            if not (isinstance(seconds, int | float) and 0 <= seconds < float("inf")):
                raise OptctxError(f"{name} is a number of seconds, found {shown(seconds)}")
        self._setup = Setup(
            harness,
            bytes(base),
            tolerance or Tolerance(),
            clock,
            processor,
            lock,
            float(patience),
            float(timeout),
        )
        super().__init__()
        self._clock = clock
        self._helper: Talk[Any] | None = None

    def _begin(self, stack: ExitStack) -> None:
        if self._helper is not None:
            raise OptctxError("this Bench is in use; leave its `with` block first")
        self._outcomes = {}
        if not self._setup.caller:
            self._setup = replace(self._setup, caller=compile_caller(self._setup.harness))
        says: Any = Ready | Checked | Rounded
        stack.callback(self._end)
        self._helper = _pool.running().talk(serve, self._setup, gives=says)
        self._ready = self._hear(Ready)
        if self._ready.error:
            raise (EndedEarlyError if self._ready.early else OptctxError)(self._ready.error)
        self.processor = self._ready.processor

    def _end(self) -> None:
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.line.kill()
            with suppress(TimeoutError):
                _hear_the_end(helper)

    def _examine(self, digest: str, code: bytes) -> Outcome:
        """Call it once on the seeded inputs, and compare what it leaves with what the base leaves."""
        return self._ask(Examine(digest, code), Checked).outcome

    def _round(self, names: tuple[str, ...], seed: int) -> Rounded:
        """Sample each in a new process on the processor, with the code at a random place."""
        return self._ask(Round(names, seed), Rounded)

    def _ask(self, message: object, expected: type[T]) -> T:
        if self._helper is None:
            raise OptctxError("this Bench is not running; use it inside its `with` block")
        self._helper.line.tell(message)
        return self._hear(expected)

    def _hear(self, expected: type[T]) -> T:
        assert self._helper is not None
        answer = self._helper.hear()
        if isinstance(answer, expected):
            return answer
        end = Death("nonsense", 0, "") if not isinstance(answer, Death) else answer
        raise EndedEarlyError(f"the helper process of the measurement ended: {end}")


def _hear_the_end(helper: Talk[Any]) -> None:
    while not isinstance(helper.hear(_GRACE), Death):
        pass


class CommandBench(Rounds):
    """Runs a command with the path of each object in place of `{object}`: less is better.

    Entering runs it with the base, and raises OptctxError if that fails or prints no number above 0 last. A
    candidate with which it fails is no error, but has no figures. `timeout`: seconds for one run.
    """

    def __init__(self, command: str, base: bytes, *, timeout: float = 60.0) -> None:
        super().__init__()
        self._words, self._base, self._timeout = object_words(command), base, timeout
        self._paths: dict[str, str] = {}

    def _begin(self, stack: ExitStack) -> None:
        self._outcomes, self._paths = {}, {}
        self._folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="optctx-", ignore_cleanup_errors=True)
        )
        self._programs = stack.enter_context(Programs())
        outcome = self._examine(BASE, self._base)
        if outcome.state != "ok":
            raise OptctxError(f"the base cannot be measured: {outcome.error}")

    def _examine(self, digest: str, code: bytes) -> Outcome:
        self._paths[digest] = path = os.path.join(self._folder, f"{digest or 'base'}.o")
        with open(path, "wb") as file:
            file.write(code)
        figure = self._figure(digest)
        return figure if isinstance(figure, Outcome) else Outcome("ok")

    def _round(self, names: tuple[str, ...], seed: int) -> Rounded:
        order = [BASE, AGAIN, *names]
        random.Random(seed).shuffle(order)
        found = Rounded({}, {})
        for name in order:
            figure = self._figure(BASE if name == AGAIN else name)
            if isinstance(figure, Outcome):
                found.dead[name] = figure
            else:
                found.samples[name] = [figure]
        return found

    def _figure(self, digest: str) -> float | Outcome:
        try:
            figure = number_of(self._programs, with_object(self._words, self._paths[digest]), self._timeout)
        except NoNumberError as error:
            return Outcome(error.state, str(error))
        if figure > 0:
            return figure
        return Outcome("failed", f"expected a number above 0 from the command, found {figure:g}")


def check(
    harness: Harness,
    base: bytes,
    candidates: Mapping[str, bytes],
    *,
    tolerance: Tolerance | None = None,
    timeout: float = 10.0,
) -> dict[str, Outcome]:
    """Call each candidate once and compare it with the base, without timing and without a processor's lock.

    Raises OptctxError if the base cannot be run. See `Bench`.
    """
    with Bench(harness, base, tolerance=tolerance, timeout=timeout, lock=False) as bench:
        return bench.check(candidates)

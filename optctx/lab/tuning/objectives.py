"""What a search goes by: a figure of each compilation, or of what it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from optctx.children.death import End
from optctx.errors import OptctxError, shown
from optctx.lab.program import NoNumberError, Program
from optctx.lab.timing import Bench, Confirmation, Interval, Kernel, Timing
from optctx.lab.trial import FIGURES, Direction, Goal, Trial, direction_of

_SAME = 0.99  # the ratio, and the end of its interval, of what is as fast
_SURELY = 0.97


@dataclass(frozen=True)
class Objective:
    """A figure to search by: one of those that each compilation gives by itself, or a `Measured` one."""

    direction: Direction = "minimise"
    name: ClassVar[str]
    unit: ClassVar[str] = ""
    confirmed: ClassVar[bool] = False  # whether the best figure counts only after a second check

    @property
    def goal(self) -> Goal:
        return Goal(self.name, FIGURES.get(self.name, self.unit), self.direction, self.confirmed)

    @property
    def identity(self) -> str:
        """All that its figures depend on, for a study that goes on."""
        return f"{self.name}: {self.direction}"


@dataclass(frozen=True)
class Size(Objective):
    """Bytes of the object."""

    name: ClassVar[str] = "size"


@dataclass(frozen=True)
class Instructions(Objective):
    """Instructions of IR after the passes."""

    name: ClassVar[str] = "instructions"


@dataclass(frozen=True)
class CompilationTime(Objective):
    """Wall time of parsing, passes and emission: the least of three, one compilation at a time."""

    name: ClassVar[str] = "compile-time"


@dataclass(frozen=True)
class Found:
    """What running a candidate gave. `figure` counts if `state` is "ok"."""

    state: End
    figure: float = math.nan
    error: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)


# Objects by name -> what each of them gave.
Measure = Callable[[Mapping[str, bytes]], dict[str, Found]]


@dataclass(frozen=True)
class Measured(Objective):
    """One that runs what was compiled, on this machine, while nothing is compiled."""

    def against(self, base: bytes) -> Measure:
        """What measures candidates against a base. It raises OptctxError if the base cannot be run."""
        raise NotImplementedError


@dataclass(frozen=True)
class RunTime(Measured):
    """The time of one call of a kernel, as a multiple of the base's: 0.5 is twice as fast.

    Candidates are timed beside the base, in turn, on one processor (`optctx.lab.timing`). One whose output is
    not the base's is a "wrong result". At the end the best one is checked again: without that it is no gain.
    The seconds of the harness are for up to eight candidates, which are timed together.
    """

    kernel: Kernel = Kernel("main")  # noqa: RUF009  frozen
    name: ClassVar[str] = "time"
    unit: ClassVar[str] = "times the base"
    confirmed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.direction != "minimise":
            raise OptctxError(
                "cannot search for slow code: only a shorter run time is a gain; write time without ':max'"
            )

    @property
    def identity(self) -> str:
        return f"{super().identity}, {self.kernel.identity}"

    def against(self, base: bytes) -> Measure:
        bench = Bench(base, self.kernel)
        return lambda candidates: self._measure(bench, candidates)

    def confirm(self, base: bytes, code: bytes, first: Interval, seed: int) -> Confirmation:
        """Check a candidate once more, whose ratio was `first`."""
        return Bench(base, self.kernel).confirm(code, first, seconds=self.kernel.harness.seconds, seed=seed)

    def _measure(self, bench: Bench, candidates: Mapping[str, bytes]) -> dict[str, Found]:
        measurement = bench.measure(candidates, seconds=self.kernel.harness.seconds)
        return {
            name: self._found(timing, measurement.noise) for name, timing in measurement.candidates.items()
        }

    def _found(self, timing: Timing, noise: Interval) -> Found:
        if timing.ratio is None or timing.seconds is None:
            return Found(timing.outcome.state, error=timing.outcome.error)
        intervals = {"seconds": timing.seconds, "ratio": timing.ratio, "noise": noise}
        times = {name: asdict(each) for name, each in intervals.items()}
        return Found("ok", 1 / timing.ratio.middle, attributes={"time": times})


@dataclass(frozen=True)
class Command(Measured):
    """The number that a command prints last: it gets the object's path in place of `{object}`.

    It is split as a shell would split it, and no shell runs it. One that fails, prints no number or takes
    longer than `timeout` seconds is the state of its trial.
    """

    command: str = ""
    timeout: float = 60.0
    name: ClassVar[str] = "command"

    def __post_init__(self) -> None:
        Program(self.command)  # raises

    @property
    def identity(self) -> str:
        return f"{super().identity}, {self.command}"

    def against(self, base: bytes) -> Measure:
        return lambda candidates: {name: self._one(code) for name, code in candidates.items()}

    def _one(self, code: bytes) -> Found:
        try:
            return Found("ok", Program(self.command).number(code, self.timeout))
        except NoNumberError as error:
            return Found(error.state, error=str(error))


_KINDS: tuple[type[Objective], ...] = (Size, Instructions, CompilationTime, RunTime, Command)


def objective_named(text: str, **settings: Any) -> Objective:
    """Make an objective of a text such as "size" or "instructions:max".

    `settings`: fields of objectives, of which it takes those that it has. Raises OptctxError for a text that
    names none, and for settings that it cannot use.
    """
    name, kinds = text.partition(":")[0], {kind.name: kind for kind in _KINDS}
    if name not in kinds:
        raise OptctxError(f"expected a goal of {', '.join(kinds)}, found {shown(name)}")
    own = {each.name: settings[each.name] for each in fields(kinds[name]) if each.name in settings}
    return kinds[name](direction=direction_of(text), **own)


def as_fast(found: Found) -> bool:
    """Whether a candidate that was measured beside the best one is no slower, but for what cannot be told."""
    ratio = interval_of(found, "ratio")
    return found.state == "ok" and ratio is not None and ratio.middle >= _SAME and ratio.low >= _SURELY


def interval_of(measured: Trial | Found, name: str) -> Interval | None:
    """One of the intervals that a run time was kept with: "seconds", "ratio" or "noise". None for none."""
    times = measured.attributes.get("time")
    return None if times is None else Interval(**times[name])

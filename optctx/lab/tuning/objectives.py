"""Goals of a search whose figures come from running what was compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from optctx.children.death import End
from optctx.lab.program import NoNumberError, Program
from optctx.lab.timing import Bench, Interval, Kernel, Measurement, Timing
from optctx.lab.trial import Direction, Goal, Trial


def found(state: End, figure: float | None = None, error: str = "", **more: Any) -> Trial:
    """What running a candidate gave, as a trial of no options."""
    return Trial(0, {}, state, figure, error=error, attributes=more)


@dataclass(frozen=True)
class RunTime:
    """The time of one call of a kernel, as a multiple of the base's: 0.5 is twice as fast.

    Candidates are timed beside the base, in turn, on one processor (`optctx.lab.timing`). One whose output is
    not the base's is a "wrong result". At the end the best one is checked again: without that it is no gain.
    The seconds of the harness are for eight candidates, which are timed together.
    """

    kernel: Kernel
    goal: ClassVar[Goal] = Goal("time", "times the base", confirmed=True)

    def measure(self, base: bytes, candidates: Mapping[str, bytes]) -> dict[str, Trial]:
        """Time candidates beside a base. Raises OptctxError if the base cannot be run."""
        times = Bench(base, self.kernel).measure(candidates)
        return {name: _timed(timing, times.noise) for name, timing in times.candidates.items()}

    def confirm(self, base: bytes, code: bytes) -> Measurement:
        """Check a candidate that was faster once more."""
        return Bench(base, self.kernel).confirm(code)


def _timed(timing: Timing, noise: Interval) -> Trial:
    if timing.ratio is None or timing.seconds is None:
        return found(timing.state, error=timing.error)
    intervals = {"seconds": timing.seconds, "ratio": timing.ratio, "noise": noise}
    times = {name: asdict(each) for name, each in intervals.items()}
    return found("ok", 1 / timing.ratio.middle, time=times)


@dataclass(frozen=True)
class Command:
    """The number that a command prints last: it gets the object's path in place of `{object}`.

    It is split as a shell would split it, and no shell runs it. One that fails, prints no number or takes
    longer than `timeout` seconds is the state of its trial. Raises OptctxError for one that cannot be run.
    """

    command: str
    direction: Direction = "minimise"
    timeout: float = 60.0

    def __post_init__(self) -> None:
        Program(self.command)  # raises

    @property
    def goal(self) -> Goal:
        return Goal("command", "", self.direction)

    def measure(self, base: bytes, candidates: Mapping[str, bytes]) -> dict[str, Trial]:
        """Run the command for each candidate. The base has no say."""
        return {name: self._one(code) for name, code in candidates.items()}

    def _one(self, code: bytes) -> Trial:
        try:
            return found("ok", Program(self.command).number(code, self.timeout))
        except NoNumberError as error:
            return found(error.state, error=str(error))


# What is run on this machine, while nothing is compiled.
Measured = RunTime | Command


def interval_of(trial: Trial, name: str) -> Interval | None:
    """One of the intervals that a run time was kept with: "seconds", "ratio" or "noise". None for none."""
    return Interval(**trial.attributes["time"][name]) if "time" in trial.attributes else None

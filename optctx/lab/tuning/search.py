"""How a space is searched, and until when: one record for Python, the flags and a study's identity."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from optctx.lab.settings import Number, checked, positive, setting
from optctx.lab.settings import seconds as read_seconds
from optctx.lab.trials import Goal, Trial
from optctx.lab.tuning.results import front_of
from optctx.lab.tuning.samplers import PRUNERS, SAMPLERS, check_pruner_name, check_sampler_name
from optctx.wording import counted

__all__ = ["MOST_TRIALS", "Search"]

MOST_TRIALS = 100_000  # of a study: what is read back in a minute or two
_TRIALS = 100  # where no limit is given
_WINDOW = 8


@dataclass(frozen=True)
class Search:
    """How a space is searched. The first limit that is reached ends it; a trial that runs then is finished.

    `seed`: the same one gives the same trials, if the figures are the same, on any number of threads or
    workers. `pruner` needs the one objective `RunTime`, on this machine. `window`: a sampler knows nothing of
    trials that are under way, so the search depends on it; where nothing is measured, "random" and "grid"
    need to know nothing, and keep everything busy that compiles. `trials` are those of the whole study,
    earlier runs among them; 100, if no other limit is given. `seconds` are of this run. `patience`: trials in
    a row without a better figure (with several objectives: without a change of the Pareto front).
    `minimise`: in the end, drop options from the best trial as long as that makes it no worse; done anyway
    where the figures are those of a compilation, such as sizes. With one objective.

    Raises OptctxError for a value that cannot be used.
    """

    title: ClassVar[str] = "search"
    sampler: str = setting(
        "tpe",
        "tpe, cmaes, nsga2, random or grid (%(default)s)",
        metavar="NAME",
        same=True,
        check=check_sampler_name,
        completes=SAMPLERS,
    )
    pruner: str = setting(
        "none",
        "stop slow trials between rounds of a run time: median, percentile:25, halving, hyperband or "
        "threshold:1.5 (%(default)s)",
        metavar="NAME",
        same=True,
        check=check_pruner_name,
        completes=PRUNERS,
    )
    seed: int = setting(
        0,
        "the same one gives the same trials (%(default)s)",
        metavar="N",
        read=Number(int, "a whole number, 0 or more", lambda found: found >= 0),
        same=True,
    )
    window: int | None = setting(
        None,
        f"trials under way at once; the search depends on it ({_WINDOW}; more for random and grid)",
        metavar="N",
        read=positive,
    )
    trials: int | None = setting(
        None,
        f"trials of the whole study ({_TRIALS}, without another limit)",
        metavar="N",
        read=Number(
            int, f"1 or more, at most {MOST_TRIALS:,} trials", lambda found: 1 <= found <= MOST_TRIALS
        ),
    )
    seconds: float | None = setting(None, "time for this run", metavar="S", read=read_seconds)
    patience: int | None = setting(
        None,
        "stop after so many trials without progress",
        metavar="N",
        read=positive,
    )
    minimise: bool = setting(False, "drop options that do not matter, also where that takes measuring")

    def __post_init__(self) -> None:
        checked(self)

    @property
    def under_way(self) -> int:
        """The window, where trials depend on each other's figures."""
        return _WINDOW if self.window is None else self.window

    @property
    def most(self) -> int:
        """Trials of the whole study."""
        if self.trials is not None:
            return self.trials
        return _TRIALS if self.seconds is None and self.patience is None else MOST_TRIALS

    def reached(self, trials: Sequence[Trial], running: int, goals: Sequence[Goal], started: float) -> str:
        """Which limit the trials, in their order, have reached, in words; "" for none.

        `running`: how many others are under way. `started`: of this run, as `time.monotonic` has it.
        """
        if len(trials) + running >= self.most:
            return counted(self.most, "trial")
        if self.seconds is not None and time.monotonic() - started >= self.seconds:
            return f"{self.seconds:g} seconds"
        if self.patience is not None and len(trials) > self.patience:
            before = {trial.number for trial in front_of(trials[: -self.patience], goals)}
            if {trial.number for trial in front_of(trials, goals)} <= before:
                return f"no progress for {counted(self.patience, 'trial')}"
        return ""

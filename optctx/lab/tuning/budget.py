"""When a search ends."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from optctx.errors import OptctxError, shown
from optctx.lab.trials import Goal, Trial
from optctx.lab.tuning.results import front_of
from optctx.wording import counted

__all__ = ["MOST_TRIALS", "Budget"]

MOST_TRIALS = 100_000  # of a study: what is read back in a minute or two


@dataclass(frozen=True)
class Budget:
    """What a search may take. The first limit that is reached ends it; a trial that runs then is finished.

    `trials`: of the whole study, those of earlier runs among them; 100,000 at most. `seconds`: wall time of
    this run. `patience`: trials in a row without a better figure (with several objectives: without a change
    of the Pareto front).
    """

    trials: int | None = 100
    seconds: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        for name in ("trials", "seconds", "patience"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise OptctxError(f"expected {name} above 0 as a budget, found {value!r}")
        if self.trials is not None and self.trials > MOST_TRIALS:
            raise OptctxError(
                f"expected at most {MOST_TRIALS:,} trials as a budget, found {shown(self.trials)}"
            )

    def reached(self, trials: Sequence[Trial], running: int, goals: Sequence[Goal], started: float) -> str:
        """Which limit the trials, in their order, have reached, in words; "" for none.

        `running`: how many others are under way. `started`: of this run, as `time.monotonic` has it.
        """
        most = MOST_TRIALS if self.trials is None else self.trials
        if len(trials) + running >= most:
            return counted(most, "trial")
        if self.seconds is not None and time.monotonic() - started >= self.seconds:
            return f"{self.seconds:g} seconds"
        if self.patience is not None and len(trials) > self.patience:
            before = {trial.number for trial in front_of(trials[: -self.patience], goals)}
            if {trial.number for trial in front_of(trials, goals)} <= before:
                return f"no progress for {counted(self.patience, 'trial')}"
        return ""

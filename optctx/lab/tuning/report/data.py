"""What a report asks of a study, which may lack trials, figures, and options in some trials."""

from __future__ import annotations

import math

from optctx.lab.timing import Interval
from optctx.lab.trials import Goal, Trial, best_of
from optctx.lab.tuning.measured import interval_of as kept_interval
from optctx.lab.tuning.results import Study, front_of

__all__ = ["PASSES", "Data", "figure_of", "interval_of", "known_figure", "text_of", "times_of"]

PASSES = "passes"  # the name that pipelines have among the options


class Data:
    """A study, and what is worked out once for all parts of its report."""

    def __init__(self, study: Study) -> None:
        self.study = study
        found = dict.fromkeys(name for trial in study.trials for name in trial.options)
        # The options of the trials, in the order of their first use; before them `passes`, if it varies.
        self.names = [*([PASSES] if len(study.pipelines) > 1 else []), *(n for n in found if n != PASSES)]
        # The trials with a figure for every objective, the others, and the base, if it has them.
        self.done = [trial for trial in study.trials if self._measured(trial)]
        self.lost = [trial for trial in study.trials if not self._measured(trial)]
        self.base = study.base if self._measured(study.base) else None
        # How far the base's time was from itself: the widest interval of all trials.
        noises = [noise for trial in self.done if (noise := times_of(trial, "noise")) is not None]
        self.noise: Interval | None = max(noises, key=lambda noise: noise.high - noise.low, default=None)
        # The trials that no other one is better than in every objective.
        self.front = front_of(self.done, study.goals)
        self.best = self._best()
        # The same, but that no second check need have confirmed a run time.
        self.best_so_far = self.best or (
            best_of(self.done, study.goals[0], self.base) if len(study.goals) == 1 else None
        )

    @property
    def winners(self) -> list[Trial]:
        """The best trial, or those of the front."""
        if len(self.study.goals) > 1:
            return self.front
        return [] if self.best is None else [self.best]

    def _best(self) -> Trial | None:
        """The best trial of a study with one objective, if it is better than the base.

        Of run times, the one that a second check has confirmed.
        """
        if len(self.study.goals) > 1:
            return None
        if not self.study.goals[0].confirmed:
            return best_of(self.done, self.study.goals[0], self.base)
        said = self.study.confirmation or {}
        return next(
            (trial for trial in self.done if said.get("gain") and trial.number == said.get("trial")), None
        )

    def _measured(self, trial: Trial) -> bool:
        return trial.state == "ok" and all(figure_of(trial, goal) is not None for goal in self.study.goals)


def figure_of(trial: Trial, goal: Goal) -> float | None:
    """The figure of a trial, if it is a finite number."""
    try:
        figure = float(trial.objectives[goal.name])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return figure if math.isfinite(figure) else None


def known_figure(trial: Trial, goal: Goal) -> float:
    """The figure of a trial that has one."""
    return float(trial.objectives[goal.name])


def interval_of(trial: Trial, goal: Goal) -> tuple[float, float] | None:
    """The confidence interval of a run time, as a multiple of the base's; None for other objectives."""
    ratio = times_of(trial, "ratio") if goal.confirmed else None  # above 1 is faster than the base
    if ratio is None:
        return None
    low, high = 1 / ratio.high, 1 / ratio.low
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def times_of(trial: Trial, name: str) -> Interval | None:
    """One of the intervals that a run time is kept with: "seconds", "ratio" or "noise"."""
    try:
        return kept_interval(trial, name)
    except OverflowError:  # an integer beyond every float
        return None


def text_of(trial: Trial, name: str) -> str | None:
    """The value of an option in a trial; None where the option does not count."""
    return trial.passes if name == PASSES and name not in trial.options else trial.options.get(name)

"""What a report asks of a study, which may lack trials, figures, and options in some trials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from optctx.tuning.results import Goal, Study, Trial, best_of, front_of

__all__ = ["PASSES", "Data", "figure_of", "interval_of", "known_figure", "text_of"]

PASSES = "passes"  # the name that pipelines have among the options


@dataclass(frozen=True)
class Data:
    """A study, and what is worked out once for all parts of its report."""

    study: Study

    @cached_property
    def names(self) -> list[str]:
        """The options of the trials, in the order of their first use; before them `passes`, if it varies."""
        found = dict.fromkeys(name for trial in self.study.trials for name in trial.options)
        return [*([PASSES] if len(self.study.pipelines) > 1 else []), *(n for n in found if n != PASSES)]

    @cached_property
    def done(self) -> list[Trial]:
        """The trials with a figure for every objective."""
        return [trial for trial in self.study.trials if self._measured(trial)]

    @cached_property
    def lost(self) -> list[Trial]:
        """The trials that have none."""
        return [trial for trial in self.study.trials if not self._measured(trial)]

    @cached_property
    def base(self) -> Trial | None:
        """The base, if it has a figure for every objective."""
        return self.study.base if self._measured(self.study.base) else None

    @cached_property
    def best(self) -> Trial | None:
        """The best trial of a study with one objective, if it is better than the base."""
        return best_of(self.done, self.study.goals[0], self.base) if len(self.study.goals) == 1 else None

    @cached_property
    def front(self) -> list[Trial]:
        """The trials that no other one is better than in every objective."""
        return front_of(self.done, self.study.goals)

    @cached_property
    def winners(self) -> list[Trial]:
        """The best trial, or those of the front."""
        if len(self.study.goals) > 1:
            return self.front
        return [] if self.best is None else [self.best]

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
    """The confidence interval of a figure where it was measured: `attributes["intervals"][NAME]`.

    It is a mapping with `low` and `high`.
    """
    intervals = trial.attributes.get("intervals")
    interval = intervals.get(goal.name) if isinstance(intervals, Mapping) else None
    if not isinstance(interval, Mapping):
        return None
    try:
        low, high = float(interval["low"]), float(interval["high"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return (low, high) if math.isfinite(low) and math.isfinite(high) and low <= high else None


def text_of(trial: Trial, name: str) -> str | None:
    """The value of an option in a trial; None where the option does not count."""
    return trial.passes if name == PASSES and name not in trial.options else trial.options.get(name)

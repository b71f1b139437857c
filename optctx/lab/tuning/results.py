"""What a search has found, as plain data: for tables, JSON and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from optctx.lab.trial import Goal, Trial
from optctx.wording import counted

if TYPE_CHECKING:
    import optuna

INTERRUPTED = "interrupted"  # `Tuned.ended` of a search that was


@dataclass(frozen=True)
class Tuned:
    """A search and its trials, of every process that works on its study, by number.

    `study`: Optuna's own, for `optuna.visualization` and `optuna.importance`. `base`: the compilation with no
    option of the space set. `ended`: why the search came to its end, in words; "interrupted" after Ctrl-C; ""
    after an error. `total`: how many trials the whole search has, where its limit or its space tells.
    `space`: its dimensions as texts. `compiled`: how many compilations it took in this run.
    """

    goals: tuple[Goal, ...]
    base: Trial
    trials: tuple[Trial, ...]
    space: tuple[str, ...]
    pipelines: tuple[str, ...]
    versions: Mapping[str, str]
    seconds: float = 0.0  # wall time of this run
    compiled: int = 0
    ended: str = ""
    total: int | None = None
    storage: str = ""  # where it is kept, without a password
    confirmation: Mapping[str, Any] | None = None  # of a gain in run time: the second check
    minimised: Mapping[str, str] | None = None  # the options that the best trial needs, if that was asked
    study: optuna.Study | None = None

    def __repr__(self) -> str:
        """Short: there are thousands of trials."""
        goals = ", ".join(goal.name for goal in self.goals)
        best = "" if self.best_so_far is None else f", best: trial {self.best_so_far.number}"
        return f"<Tuned by {goals}: {self.progress}{best}>"

    @property
    def finished(self) -> bool:
        """Whether the search came to its own end. Otherwise every result is one so far."""
        return self.ended not in ("", INTERRUPTED)

    @property
    def progress(self) -> str:
        """How far it came: "interrupted after 8 of 12 trials"."""
        how = f"{self.ended} after" if self.ended == INTERRUPTED else "not finished:"
        count = len(self.trials)
        return f"{'' if self.finished else f'{how} '}{progress(count, self.total)}"

    @property
    def best_so_far(self) -> Trial | None:
        """As `best`; without one, the trial with the best figure, which no second check has confirmed."""
        if len(self.goals) > 1:
            return None
        return self.best or self.goals[0].best_of(self.trials, self.base)

    @property
    def best(self) -> Trial | None:
        """The best trial of a search with one objective, if it is better than the base; otherwise None.

        Of run times, the one that a second check has confirmed (`confirmation`).
        """
        if len(self.goals) > 1:
            return None
        if not self.goals[0].confirmed:
            return self.goals[0].best_of(self.trials, self.base)
        if self.confirmation is None or not self.confirmation.get("gain"):
            return None
        number = self.confirmation.get("trial")
        return next((trial for trial in self.trials if trial.number == number and trial.state == "ok"), None)

    @property
    def winner(self) -> Trial | None:
        """As `best`, with the options alone that it needs, if that was asked."""
        best = self.best
        return best if best is None or self.minimised is None else replace(best, options=self.minimised)

    @property
    def ranked(self) -> list[Trial]:
        """The trials with figures, the best first; with several objectives those of the Pareto front."""
        if len(self.goals) > 1:
            return self.front
        (goal,) = self.goals
        done = [trial for trial in self.trials if trial.state == "ok"]
        return sorted(done, key=lambda trial: (goal.sign * trial.objectives[goal.name], trial.number))

    @property
    def front(self) -> list[Trial]:
        """The trials that no other one is better than in all objectives: the Pareto front, in order of trial.

        Of those with equal figures the first counts. With one objective, the best trial alone.
        """
        return front_of(self.goals, self.trials)


def progress(count: int, total: int | None) -> str:
    """How many trials there are, of how many if that is known."""
    return counted(count, "trial") if total is None else f"{count} of {counted(total, 'trial')}"


def front_of(goals: Sequence[Goal], trials: Iterable[Trial]) -> list[Trial]:
    """The trials that no other one dominates, by number. Of those with equal figures the first counts."""
    found: dict[tuple[float, ...], Trial] = {}
    for trial in trials:
        if trial.state == "ok":
            key = tuple(goal.sign * trial.objectives[goal.name] for goal in goals)
            if not any(_dominates(other, key) for other in found):
                found = {other: kept for other, kept in found.items() if not _dominates(key, other)}
                found[key] = trial
    return sorted(found.values(), key=lambda trial: trial.number)


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether it is at least as good in all, equal ones among them."""
    return all(a <= b for a, b in zip(one, other, strict=True))

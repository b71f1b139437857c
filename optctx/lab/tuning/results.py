"""What a search has found: as plain data, as a table for people, and as the lines that compile its best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from optctx.lab.repeat import Source, lines_of, shown_lines
from optctx.lab.tables import Table, ends_of, settings_text, time_unit
from optctx.lab.trial import Goal, Trial
from optctx.wording import counted

if TYPE_CHECKING:
    import optuna

INTERRUPTED = "interrupted"  # `Tuned.ended` of a search that was
_ROWS = 10  # of the table


@dataclass(frozen=True)
class Tuned:
    """A search and its trials, of every process that works on its study, by number.

    `study`: Optuna's own, for `optuna.visualization` and `optuna.importance`. `base`: the compilation with no
    option of the space set. `ended`: why the search came to its end, in words; "interrupted" after Ctrl-C; ""
    after an error. `total`: how many trials the whole search has, where its limit or its space tells.
    `space`: its dimensions as texts. `compiled`: how many compilations it took in this run.
    """

    goal: Goal
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
    minimised: Mapping[str, str] | None = None  # the options that the best trial needs
    study: optuna.Study | None = None

    def __repr__(self) -> str:
        """Short: there are thousands of trials."""
        best = "" if self.best_so_far is None else f", best: trial {self.best_so_far.number}"
        return f"<Tuned by {self.goal.name}: {self.progress}{best}>"

    @property
    def finished(self) -> bool:
        """Whether the search came to its own end. Otherwise every result is one so far."""
        return self.ended not in ("", INTERRUPTED)

    @property
    def progress(self) -> str:
        """How far it came: "interrupted after 8 of 12 trials"."""
        how = f"{self.ended} after" if self.ended == INTERRUPTED else "not finished:"
        return f"{'' if self.finished else f'{how} '}{self.count}"

    @property
    def count(self) -> str:
        """How many trials there are, of how many if that is known."""
        count = len(self.trials)
        return counted(count, "trial") if self.total is None else f"{count} of {counted(self.total, 'trial')}"

    @property
    def best_so_far(self) -> Trial | None:
        """As `best`; without one, the trial with the best figure, which no second check has confirmed."""
        return self.best or self.goal.best_of(self.trials, self.base)

    @property
    def best(self) -> Trial | None:
        """The best trial, if it is better than the base; otherwise None.

        Of run times, the one that a second check has confirmed (`confirmation`).
        """
        if not self.goal.confirmed:
            return self.goal.best_of(self.trials, self.base)
        if self.confirmation is None or not self.confirmation.get("gain"):
            return None
        number = self.confirmation.get("trial")
        return next((trial for trial in self.trials if trial.number == number and trial.state == "ok"), None)

    @property
    def winner(self) -> Trial | None:
        """As `best`, with the options alone that it needs."""
        best = self.best
        return best if best is None or self.minimised is None else replace(best, options=self.minimised)

    @property
    def ranked(self) -> list[Trial]:
        """The trials with figures, the best first."""
        done = [trial for trial in self.trials if trial.state == "ok"]
        return sorted(done, key=lambda each: (self.goal.sign * each.objectives[self.goal.name], each.number))

    def as_data(self) -> dict[str, Any]:
        """One object for JSON: `trials` in the order of their numbers, `base`, `best` (or None),
        what was searched and how, the machine and the versions. Numbers are in the unit of `goal`. Where
        `finished` is false the search was interrupted or failed. Its `best` is one so far, and None for a run
        time that no second check has confirmed; `best_so_far` is the number of the trial in that case, too.
        """
        found = msgspec.to_builtins(replace(self, study=None))
        so_far = self.best_so_far and self.best_so_far.number
        more = {"best": msgspec.to_builtins(self.best), "best_so_far": so_far, "finished": self.finished}
        return {**found, **more}

    def as_table(self) -> Table:
        """A table: the base, then the best trials. What is long comes last: options, as `opt` takes them."""
        figure = self.goal.unit or self.goal.name
        passes = ["passes"] * (len(self.pipelines) > 1)

        def row(trial: Trial, number: str) -> list[str]:
            shown = figure_text(trial.objectives[self.goal.name], self.goal)
            settings = settings_text(trial.options)
            return [number, shown, self._change(trial), *[trial.passes] * len(passes), settings]

        best = (row(each, str(each.number)) for each in self.ranked[:_ROWS])
        headings, right = ["trial", figure, "change", *passes, "options"], ["trial", figure, "change"]
        return Table(headings, [row(self.base, "base"), None, *best], right=right, ruled=True)

    def summary(self) -> list[str]:
        """Lines that say what is best, how the trials ended, and why the search did."""
        counts = [counted(len(self.trials), "trial") if self.finished else self.progress]
        counts += ends_of(self.trials)
        if (rows := len(self.ranked)) > _ROWS:
            counts.append(f"{_ROWS} of {rows} rows shown")
        if not self.finished:
            return [*self._best_lines(), ", ".join(counts)]
        why = f"ended after {self.ended}" if self.ended[0].isdigit() else f"ended: {self.ended}"
        return [*self._best_lines(), f"{', '.join(counts)}; {why}"]

    def ending(self, source: Source, saved: str | None) -> list[str]:
        """Lines for clang, for opt and llc, for Numba, and on the file of the best set. Empty without a best.

        `saved`: the file that the best set is written to.
        """
        trial = self.winner
        if trial is None:
            return []
        lines = lines_of(trial, source)
        kept = f"the best set is in {saved}, for --load"
        numba = [f"Numba: {lines['numba']}"] if lines["numba"] else []
        return [*shown_lines(lines), *numba, kept if saved else "--best FILE keeps the best set, for --load"]

    def _best_lines(self) -> list[str]:
        """What is best, or that nothing is."""
        goal, checked, confirmed = self.goal, self.confirmation, self.best is not None
        so_far = "" if self.finished else " so far"
        best = self.best if self.finished else self.best_so_far
        refuted = [f"trial {checked['trial']}: {checked['text']}"] if checked and not confirmed else []
        if best is None and goal.confirmed and self.finished:
            return ["no gain in run time was found and confirmed", *refuted]
        if best is None:
            return [f"no trial{so_far} is better than the base by {goal.unit or goal.name}"]
        options = best.options if self.minimised is None else self.minimised
        passes = f"--passes '{best.passes}' " if len(self.pipelines) > 1 else ""
        change = checked["text"] if checked and confirmed else self._change(best)
        doubt = "not confirmed" if goal.confirmed and not confirmed else ""
        ties = sum(trial.objectives.get(goal.name) == best.objectives[goal.name] for trial in self.trials)
        tied = f"{ties} trials tie" if ties > 1 and not goal.confirmed else ""
        notes = "; ".join(filter(None, (", ".join(filter(None, (change, doubt))), tied)))
        settings = settings_text(options) or "no options"
        return [f"best{so_far} by {goal.name}: {passes}{settings}{notes and f' ({notes})'}", *refuted]

    def _change(self, trial: Trial) -> str:
        """How far its figure is from the base's: "-12.3%"; "" if the base has none to compare with."""
        figure, base = (each.objectives[self.goal.name] for each in (trial, self.base))
        return f"{(figure - base) / abs(base):+.1%}" if base else ""


def figure_text(figure: float, goal: Goal) -> str:
    """A figure of an objective as people read it."""
    if goal.unit == "seconds":
        size, unit = time_unit(figure)
        return f"{figure / size:.4g} {unit}"
    whole = abs(figure) < 1e15 and figure == math.floor(figure)
    return str(int(figure)) if whole else f"{figure:.6g}"

"""A study as a table for people, with the lines that compile its best; and as data and rows for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from optctx.lab.repeat import Source, lines_of, shown_lines
from optctx.lab.rich_table import Table, time_unit
from optctx.lab.tables import ends_of, record, settings_text, trial_rows
from optctx.lab.trial import Goal, Trial
from optctx.lab.tuning.results import Tuned
from optctx.wording import counted

_ROWS = 10  # of the table


def as_data(study: Tuned) -> dict[str, Any]:
    """One object: `trials` in the order of their numbers, `base`, `best` (None if none is better), `front`,
    what was searched and how, the machine and the versions. Numbers are in the units of `objectives`.
    Where `finished` is false the search was interrupted or failed. Its `best` is one so far, and None for a
    run time that no second check has confirmed; `best_so_far` is the number of the trial in that case, too.
    """
    best, so_far = study.best, study.best_so_far
    found = msgspec.to_builtins(replace(study, trials=(), study=None))
    return {
        **{name: value for name, value in found.items() if name not in ("goals", "study")},
        "objectives": found["goals"],
        "base": record(study.base),
        "best": None if best is None else record(best),
        "best_so_far": None if so_far is None else so_far.number,
        "front": [trial.number for trial in study.front],
        "trials": [record(trial) for trial in study.trials],
        "finished": study.finished,
    }


def as_rows(study: Tuned) -> Iterator[Sequence[object]]:
    """Headings, and a row for each trial, after one for the base, whose number is empty."""
    return trial_rows((study.base, *study.trials))


def as_table(study: Tuned) -> Table:
    """A table: the base, then the best trials; with several objectives those of the Pareto front.

    What is long comes last: the options of a trial, as `opt` takes them.
    """
    change = ["change"] * (len(study.goals) == 1)
    figures = [*(goal.unit or goal.name for goal in study.goals), *change]
    passes = ["passes"] * (len(study.pipelines) > 1)

    def row(trial: Trial, number: str) -> list[str]:
        shown = [figure_text(trial.objectives[goal.name], goal) for goal in study.goals]
        shown += [_change(trial, study) for _ in change]
        return [number, *shown, *[trial.passes] * len(passes), settings_text(trial.options)]

    rows = [row(study.base, "base"), None, *(row(each, str(each.number)) for each in study.ranked[:_ROWS])]
    headings = ["trial", *figures, *passes, "options"]
    return Table(headings, rows, right=["trial", *figures], least=change, ruled=True)


def summary(study: Tuned) -> list[str]:
    """Lines that say what is best, how the trials ended, and why the search did."""
    so_far = "" if study.finished else " so far"
    if len(study.goals) > 1:
        lines = [f"{counted(len(study.front), 'trial')} on the Pareto front{so_far}"]
    else:
        lines = _best_lines(study, so_far)
    counts = [
        study.progress if so_far else counted(len(study.trials), "trial"),
        *ends_of(study.trials),
    ]
    if (rows := len(study.ranked)) > _ROWS:
        counts.append(f"{_ROWS} of {rows} rows shown")
    if so_far:
        return [*lines, ", ".join(counts)]
    why = f"ended after {study.ended}" if study.ended[0].isdigit() else f"ended: {study.ended}"
    return [*lines, f"{', '.join(counts)}; {why}"]


def ending(study: Tuned, source: Source, saved: str | None) -> list[str]:
    """Lines for clang, for opt and llc, for Numba, and on the file of the best set. Empty without a best.

    `saved`: the file that the best set is written to.
    """
    trial = study.winner
    if trial is None:
        return []
    lines = lines_of(trial, source)
    where = (
        f"the best set is in {saved}, for --load" if saved else "--best FILE keeps the best set, for --load"
    )
    numba = [f"Numba: {lines['numba']}"] if lines["numba"] else []
    return [*shown_lines(lines), *numba, where]


def figure_text(figure: float, goal: Goal) -> str:
    """A figure of an objective as people read it."""
    if goal.unit == "seconds":
        size, unit = time_unit(figure)
        return f"{figure / size:.4g} {unit}"
    whole = abs(figure) < 1e15 and figure == math.floor(figure)
    return str(int(figure)) if whole else f"{figure:.6g}"


def _best_lines(study: Tuned, so_far: str) -> list[str]:
    """What is best by the one objective, or that nothing is."""
    (goal,) = study.goals
    best, confirmed = study.best_so_far if so_far else study.best, study.best is not None
    checked = study.confirmation
    refuted = [f"trial {checked['trial']}: {checked['text']}"] if checked and not confirmed else []
    if best is None and goal.confirmed and not so_far:
        return ["no gain in run time was found and confirmed", *refuted]
    if best is None:
        return [f"no trial{so_far} is better than the base by {goal.unit or goal.name}"]
    options = best.options if study.minimised is None else study.minimised
    passes = f"--passes '{best.passes}' " if len(study.pipelines) > 1 else ""
    change = checked["text"] if checked and confirmed else _change(best, study)
    doubt = "not confirmed" if goal.confirmed and not confirmed else ""
    ties = sum(trial.objectives.get(goal.name) == best.objectives[goal.name] for trial in study.trials)
    tied = f"{ties} trials tie" if ties > 1 and not goal.confirmed else ""
    notes = "; ".join(filter(None, (", ".join(filter(None, (change, doubt))), tied)))
    settings = settings_text(options) or "no options"
    best_line = f"best{so_far} by {goal.name}: {passes}{settings}{notes and f' ({notes})'}"
    return [best_line, *refuted]


def _change(trial: Trial, study: Tuned) -> str:
    """How far its figure is from the base's: "-12.3%"; "" if the base has none to compare with."""
    (goal,) = study.goals
    figure, base = trial.objectives[goal.name], study.base.objectives[goal.name]
    return f"{(figure - base) / abs(base):+.1%}" if base else ""

"""Trials as a table for people, and as data and rows for programs: the same columns for every experiment."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from optctx.errors import OptctxError, shown
from optctx.lab.trials.goal import FIGURES, Goal, best_of, figure_of
from optctx.lab.trials.trial import STATES, Trial
from optctx.wording import counted

if TYPE_CHECKING:
    from optctx.lab.tables import Cell, Table

_DIGEST_SHOWN = 12  # hexadecimal digits in the table; JSON and CSV have all 64
_TEXTS = ("file", "passes", "state", "digest")
_FIGURES = ("size", "instructions", "seconds")
_COLUMNS = ("state", "instructions", "size", "seconds", "agrees", "digest", "error", "difference")


def record(trial: Trial) -> dict[str, Any]:
    """A trial of JSON's types, with the names of `Trial`. Times are in seconds. A base has no number."""
    number = trial.number if trial.number >= 0 else None
    return {**msgspec.to_builtins(trial), "number": number}


def as_rows(trials: Sequence[Trial]) -> Iterator[Sequence[object]]:
    """Headings and a row for each trial. Figures are empty unless the state is "ok".

    Objectives that not every compilation has, such as a run time, follow the others.
    """
    names = _options(trials)
    goals = [name for trial in trials for name in trial.objectives if name not in FIGURES]
    goals = list(dict.fromkeys(goals))
    yield "number", "file", "passes", *names, *_COLUMNS, *goals
    for trial in trials:
        seconds = f"{trial.seconds:.6f}" if trial.state == "ok" else ""
        agrees = "" if trial.agrees is None else str(trial.agrees).lower()
        figures = [trial.attributes.get(name, "") for name in ("instructions", "size")]
        texts = (trial.digest, trial.error, trial.difference)
        options = (trial.options.get(name, "") for name in names)
        head = (trial.number if trial.number >= 0 else "", trial.file, trial.passes, *options, trial.state)
        values = (trial.objectives.get(name, "") for name in goals)
        yield *head, *figures, seconds, agrees, *texts, *values


def as_table(trials: Sequence[Trial], goal: Goal | None = None, top: int | None = None) -> Table:
    """A table: option values, IR instructions, object size, compile time, digest.

    It has a column for the file and the pipeline if there are several, for the verdict of a fresh process if
    there is one, and for state and error if a trial has no object. Baselines come first, then the first `top`
    of the others. With `goal`, the best trial of each file is repeated at the end.
    """
    from optctx.lab.tables import Table

    names = _options(trials)
    own = [trial for trial in trials if trial.number >= 0]
    parts = {
        "baseline": [trial for trial in trials if trial.number < 0],
        "": own[:top],
        "best": [] if goal is None else _best(own, goal),
    }
    labelled = bool(parts["best"] or parts["baseline"])
    files, pipelines = (len({getattr(trial, name) for trial in trials}) > 1 for name in ("file", "passes"))
    dead = any(trial.state != "ok" for trial in trials)
    verified = any(trial.agrees is not None or trial.difference for trial in trials)
    left = [*([""] * labelled), *(["file"] * files), *(["passes"] * pipelines)]
    numbers = [*names, "IR instructions", "object bytes", "ms"]
    after = ["object", *(["fresh process"] * verified), *(["state", "error"] * dead)]
    rows: list[list[Cell] | None] = []
    for label, part in parts.items():
        for trial in part:
            cells = [*([label] * labelled), *([trial.file] * files), *([trial.passes] * pipelines)]
            state: list[Cell] = [(trial.state, "" if trial.state == "ok" else "bold red"), trial.error]
            more = [*([_agreement(trial)] * verified), *(state if dead else [])]
            rows.append([*cells, *_cells(trial, names), *more])
        rows.append(None)
    return Table([*left, *numbers, *after], rows, right=numbers, ruled=True)


def summary(trials: Sequence[Trial], goal: Goal | None) -> list[str]:
    """Lines with the best trial of each file, and with how the trials ended."""
    bases = {(trial.file, trial.passes): trial for trial in trials if trial.number < 0}
    own = [trial for trial in trials if trial.number >= 0]
    files, pipelines = (len({getattr(trial, name) for trial in own}) > 1 for name in ("file", "passes"))
    lines = []
    for trial in [] if goal is None else _best(own, goal):
        assert goal is not None
        where = f"{trial.file}: " if files else ""
        passes = f"--passes '{trial.passes}' " if pipelines else ""
        options = settings_text(trial.options)
        change = _change(trial, bases.get((trial.file, trial.passes)), goal)
        same = _as_good(trial, own, goal)
        lines.append(f"{where}best by {goal.unit}: {passes}{options or 'no options'}{change}{same}")
    ended = Counter(trial.state for trial in own)
    objects = len({trial.digest for trial in own if trial.digest})
    counts = [
        counted(len(own), "combination"),
        counted(objects, "different object"),
        *(f"{ended[state]} {state}" for state in STATES if state != "ok" and ended[state]),
    ]
    return [*lines, ", ".join(counts)]


def check_column(column: str, names: Sequence[str]) -> str:
    """Return the column's name without dashes. Raises OptctxError if trials over these options lack it."""
    name = column.lstrip("-")
    columns = [*names, *_TEXTS, *_FIGURES, "number"]
    if name not in columns:
        raise OptctxError(f"cannot sort by {shown(column)}: expected one of {', '.join(columns)}")
    return name


def sorted_trials(trials: Sequence[Trial], column: str) -> list[Trial]:
    """The trials in ascending order of a column. Those without a number in it come last.

    Raises OptctxError for a name that is not a column.
    """
    name = check_column(column, _options(trials))
    if name in _TEXTS:
        return sorted(trials, key=lambda trial: str(getattr(trial, name)))
    if name == "number":
        return sorted(trials, key=lambda trial: trial.number)
    if name not in _FIGURES:
        return sorted(trials, key=lambda trial: _value(trial.options.get(name, "")))
    figure = "compile-time" if name == "seconds" else name

    def key(trial: Trial) -> tuple[bool, float]:
        found = figure_of(trial, figure)
        return found is None, found or 0.0

    return sorted(trials, key=key)


def settings_text(options: Mapping[str, str]) -> str:
    """What a trial sets, as `opt` takes it."""
    return " ".join(f"-{name}={text}" for name, text in options.items() if text != "default")


def percent(change: float) -> str:
    """A relative change for people."""
    return f"{change:+.1%}" if change else "0"


def _options(trials: Sequence[Trial]) -> list[str]:
    return list(dict.fromkeys(name for trial in trials for name in trial.options))


def _value(text: str) -> tuple[bool, float, str]:
    """A sort key: numbers by size, then words."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    return not math.isfinite(value), value if math.isfinite(value) else 0.0, text


def _best(trials: Sequence[Trial], goal: Goal) -> list[Trial]:
    """The best trial of each file; of equal ones that which sets the fewest options, then the first."""
    found = []
    for file in dict.fromkeys(trial.file for trial in trials):
        own = sorted((trial for trial in trials if trial.file == file), key=lambda trial: _set(trial.options))
        best = best_of(own, goal)
        found += [] if best is None else [best]
    return found


def _set(options: Mapping[str, str]) -> int:
    return sum(text != "default" for text in options.values())


def _as_good(best: Trial, trials: Sequence[Trial], goal: Goal) -> str:
    same = [
        t for t in trials if t.file == best.file and figure_of(t, goal.name) == figure_of(best, goal.name)
    ]
    return f"; {counted(len(same) - 1, 'other is', 'others are')} as good" if len(same) > 1 else ""


def _cells(trial: Trial, names: Sequence[str]) -> list[str]:
    figures = [trial.attributes.get("instructions", "-"), trial.attributes.get("size", "-")]
    time = f"{trial.seconds * 1e3:.1f}" if trial.state == "ok" else "-"
    options = [trial.options.get(name, "") for name in names]
    return [*options, *map(str, figures), time, trial.digest[:_DIGEST_SHOWN] or "-"]


def _agreement(trial: Trial) -> Cell:
    if trial.agrees is None:
        return ("not compared", "bold yellow") if trial.difference else "-"
    return ("same", "green") if trial.agrees else ("DIFFERS", "bold red")


def _change(trial: Trial, base: Trial | None, goal: Goal) -> str:
    there = None if base is None else figure_of(base, goal.name)
    here = figure_of(trial, goal.name)
    if not there or here is None:
        return ""
    change = here / there - 1
    return f" ({change:+.1%} against the baseline)" if change else " (as the baseline)"

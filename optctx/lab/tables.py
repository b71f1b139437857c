"""The results of sweeps, rankings and searches as tables for people, and as data for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from optctx.children.death import ENDS
from optctx.lab.space import DEFAULT
from optctx.lab.trial import Goal, Trial
from optctx.wording import counted, printable

if TYPE_CHECKING:
    import rich.table

T = TypeVar("T")
Cell = str | tuple[str, str]  # a text on one line, whatever a name or a value holds; or that and rich's style

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_DIGEST_SHOWN = 12  # hexadecimal digits in the table; JSON has all 64


@dataclass(frozen=True)
class Table:
    """A table for people, which rich prints. None in place of a row ends a section.

    `right`: headings of the columns that are aligned to the right. `ruled`: with lines around the cells.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell] | None]
    right: Sequence[str] = ()
    ruled: bool = False

    def __rich__(self) -> rich.table.Table:
        import rich.table
        from rich.text import Text

        more: dict[str, Any] = {} if self.ruled else {"box": None, "pad_edge": False}
        made = rich.table.Table(header_style="bold", **more)
        for heading in self.headings:
            side: Any = "right" if heading in self.right else "left"
            made.add_column(Text(printable(heading)), justify=side, overflow="fold")
        for row in self.rows:
            if row is None:
                made.add_section()
            else:
                pairs = (each if isinstance(each, tuple) else (each, "") for each in row)
                made.add_row(*(Text(printable(text), style) for text, style in pairs))
        return made


def time_unit(seconds: float) -> tuple[float, str]:
    """The unit that suits a time: its size in seconds, and its name."""
    return next((each for each in _UNITS if abs(seconds) >= each[0]), _UNITS[-1])


def table_of(rows: Iterable[T | None], columns: Mapping[str, Callable[[T], Cell]], **more: Any) -> Table:
    """A table for people: a row for each of `rows`, and a line for None. `more`: fields of `Table`."""
    cells = [None if row is None else [cell(row) for cell in columns.values()] for row in rows]
    return Table([*columns], cells, **more)


def trial_table(trials: Sequence[Trial], goal: Goal | None = None) -> Table:
    """A table: option values, IR instructions, object size, compile time, digest.

    It has a column for the verdict of a fresh process if there is one, and for state and error if a trial has
    no object. The baseline comes first. With `goal`, the best trial is repeated at the end.
    """
    own, bases = (list(filter(which, trials)) for which in (_is_own, lambda trial: not _is_own(trial)))
    best = [] if goal is None else _best(own, goal)
    parts = {"baseline": bases, "": own, "best": best}
    rows = [row for label, part in parts.items() for row in (*((label, trial) for trial in part), None)]
    columns: dict[str, Callable[[Trial], Cell]] = {name: _option(name) for name in _options(trials)}
    columns["IR instructions"] = lambda trial: str(trial.attributes.get("instructions", "-"))
    columns["object bytes"] = lambda trial: str(trial.attributes.get("size", "-"))
    columns["ms"] = lambda trial: f"{trial.seconds * 1e3:.1f}" if trial.state == "ok" else "-"
    columns["object"] = lambda trial: trial.digest[:_DIGEST_SHOWN] or "-"
    if any(trial.agrees is not None or trial.difference for trial in trials):
        columns["fresh process"] = _agreement
    if any(trial.state != "ok" for trial in trials):
        columns["state"] = lambda trial: (trial.state, "" if trial.state == "ok" else "bold red")
        columns["error"] = lambda trial: trial.error
    right = [*_options(trials), "IR instructions", "object bytes", "ms"]
    labels: dict[str, Callable[[tuple[str, Trial]], Cell]] = {}
    if bases or best:
        labels[""] = lambda row: row[0]
    labels |= {name: _of_trial(cell) for name, cell in columns.items()}
    return table_of(rows, labels, right=right, ruled=True)


def _of_trial(cell: Callable[[Trial], Cell]) -> Callable[[tuple[str, Trial]], Cell]:
    return lambda row: cell(row[1])


def summary(trials: Sequence[Trial], goal: Goal | None) -> list[str]:
    """Lines with the best trial, and with how the trials ended."""
    base = next((trial for trial in trials if not _is_own(trial)), None)
    own = list(filter(_is_own, trials))
    lines = []
    for trial in [] if goal is None else _best(own, goal):
        assert goal is not None
        change = _change(trial, base)
        same = sum(each.figure == trial.figure for each in own) - 1
        others = f"; {counted(same, 'other is', 'others are')} as good" if same else ""
        settings = settings_text(trial.options) or "no options"
        lines.append(f"best by {goal.unit}: {settings}{change}{others}")
    objects = len({trial.digest for trial in own if trial.digest})
    counts = [counted(len(own), "combination"), counted(objects, "different object"), *ends_of(own)]
    return [*lines, ", ".join(counts)]


def ends_of(trials: Iterable[Trial]) -> list[str]:
    """How many trials have no result, by how they ended: "2 crashed"."""
    ended = Counter(trial.state for trial in trials)
    return [f"{ended[state]} {state}" for state in ENDS if state != "ok" and ended[state]]


def settings_text(options: Mapping[str, str]) -> str:
    """What a trial sets, as `opt` takes it."""
    return " ".join(f"-{name}={text}" for name, text in options.items() if text != DEFAULT)


def percent(change: float) -> str:
    """A relative change for people."""
    return f"{change:+.1%}" if change else "0"


def _is_own(trial: Trial) -> bool:
    """Whether it is no baseline."""
    return trial.number >= 0


def _option(name: str) -> Callable[[Trial], str]:
    return lambda trial: trial.options.get(name, "")


def _options(trials: Sequence[Trial]) -> list[str]:
    return list(dict.fromkeys(name for trial in trials for name in trial.options))


def _best(trials: Sequence[Trial], goal: Goal) -> list[Trial]:
    """The best trial, if there is one; of equal ones that which sets the fewest options, then the first."""
    ordered = sorted(trials, key=lambda trial: sum(text != DEFAULT for text in trial.options.values()))
    best = goal.best_of(ordered)
    return [] if best is None else [best]


def _agreement(trial: Trial) -> Cell:
    if trial.agrees is None:
        return ("not compared", "bold yellow") if trial.difference else "-"
    return ("same", "green") if trial.agrees else ("DIFFERS", "bold red")


def _change(trial: Trial, base: Trial | None) -> str:
    there, here = base and base.figure, trial.figure
    if not there or here is None:
        return ""
    change = here / there - 1
    return f" ({change:+.1%} against the baseline)" if change else " (as the baseline)"

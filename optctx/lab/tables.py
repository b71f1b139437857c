"""The results of sweeps, rankings and searches as tables for people, and as data for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from optctx.children.death import ENDS
from optctx.lab.space import DEFAULT
from optctx.lab.trial import FIGURES, Goal, Trial
from optctx.wording import printable

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


def trial_table(trials: Sequence[Trial], base: Trial | None, goal: Goal) -> Table:
    """A table of trials, below their base: figures, how far they are from the base's, digest, options.

    It has a column for the verdict of a fresh process if there is one, and for state and error if a trial has
    no object. What is long comes last: options, as `opt` takes them.
    """
    columns: dict[str, Callable[[Trial], Cell]] = {
        "trial": lambda trial: "base" if trial is base else str(trial.number),
        "IR instructions": lambda trial: str(trial.attributes.get("instructions", "-")),
        "object bytes": lambda trial: str(trial.attributes.get("size", "-")),
        "ms": lambda trial: f"{trial.seconds * 1e3:.1f}" if trial.state == "ok" else "-",
    }
    if goal.name not in FIGURES:
        heading = goal.unit or goal.name
        columns[heading] = lambda trial: "-" if trial.figure is None else f"{trial.figure:.6g}"
    if base is not None:
        columns["change"] = lambda trial: change_text(trial, base)
    right = [*columns]
    columns["object"] = lambda trial: trial.digest[:_DIGEST_SHOWN] or "-"
    if any(trial.agrees is not None or trial.difference for trial in trials):
        columns["fresh process"] = _agreement
    if any(trial.state != "ok" for trial in trials):
        columns["state"] = lambda trial: (trial.state, "" if trial.state == "ok" else "bold red")
        columns["error"] = lambda trial: trial.error
    columns["options"] = lambda trial: settings_text(trial.options)
    above = [] if base is None else [base, None]
    return table_of([*above, *trials], columns, right=right, ruled=True)


def best_text(goal: Goal, options: Mapping[str, str], *notes: str) -> str:
    """Say what is best by a goal: options, and notes on them."""
    words = ", ".join(filter(None, notes))
    return f"by {goal.name}: {settings_text(options) or 'no options'}{words and f' ({words})'}"


def change_text(trial: Trial, base: Trial | None) -> str:
    """How far its figure is from the base's: "-12.3%"; "" if there is none to compare with."""
    if base is None or trial is base or not base.figure or trial.figure is None:
        return ""
    change = (trial.figure - base.figure) / abs(base.figure)
    return f"{change:+.1%}" if change else "as the base"


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


def _agreement(trial: Trial) -> Cell:
    if trial.agrees is None:
        return ("not compared", "bold yellow") if trial.difference else "-"
    return ("same", "green") if trial.agrees else ("DIFFERS", "bold red")

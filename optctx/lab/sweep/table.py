"""Rows as a table for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from optctx.lab.sweep.order import UNITS, By, best_rows, figure
from optctx.lab.sweep.row import STATES, Row
from optctx.wording import counted

if TYPE_CHECKING:
    from optctx.tables import Cell, Table

__all__ = ["as_table", "summary"]

_DIGEST_SHOWN = 12  # hexadecimal digits in the table; JSON and CSV have all 64


def as_table(rows: Sequence[Row], by: By | None = None) -> Table:
    """A rich table: option values, IR instructions, object size, compile time, digest.

    It has a column for the file if there are several, for the verdict of a fresh process if there is one, and
    for state and error if a combination has no object. Baselines come first. With `by`, the best row of each
    file is repeated at the end.
    """
    names = list(rows[0].options) if rows else []
    best = [] if by is None else best_rows(rows, by)
    parts = {
        "baseline": [row for row in rows if row.baseline],
        "": [row for row in rows if not row.baseline],
        "best": best,
    }
    labelled = bool(best or parts["baseline"])
    files, dead, verified = (
        len({row.file for row in rows}) > 1,
        any(row.state != "ok" for row in rows),
        any(row.agrees is not None or row.difference for row in rows),
    )
    from optctx.tables import add_row, ruled_table  # the helper process of a sweep needs no tables

    left = [*([""] * labelled), *(["file"] * files)]
    numbers = [*names, "IR instructions", "object bytes", "ms"]
    after = ["object", *(["fresh process"] * verified), *(["state", "error"] * dead)]
    table = ruled_table([*left, *numbers, *after], right=numbers)
    for label, part in parts.items():
        for row in part:
            cells = [*([label] * labelled), *([row.file] * files), *_cells(row)]
            state: list[Cell] = [(row.state, "" if row.state == "ok" else "bold red"), row.error]
            add_row(table, [*cells, *([_agreement(row)] * verified), *(state if dead else [])])
        table.add_section()
    return table


def summary(rows: Sequence[Row], by: By | None) -> list[str]:
    """Lines with the best row of each file by a figure, and with how the combinations ended."""
    baselines = {row.file: row for row in rows if row.baseline}
    combinations = [row for row in rows if not row.baseline]
    several = len({row.file for row in combinations}) > 1
    lines = []
    if by is not None:
        for row in best_rows(combinations, by):
            where = f"{row.file}: " if several else ""
            options = " ".join(f"{name}={value}" for name, value in row.options.items()) or "no options"
            change = _change(row, baselines.get(row.file), by)
            lines.append(f"{where}best by {UNITS[by]}: {options}{change}")
    ended = Counter(row.state for row in combinations)
    objects = len({row.digest for row in combinations if row.digest})
    counts = [
        counted(len(combinations), "combination"),
        counted(objects, "different object"),
        *(f"{ended[state]} {state}" for state in STATES if state != "ok" and ended[state]),
    ]
    return [*lines, ", ".join(counts)]


def _cells(row: Row) -> list[str]:
    numbers = [str(row.instructions), str(row.object_size), f"{row.seconds * 1e3:.1f}"]
    known = numbers if row.state == "ok" else ["-"] * len(numbers)
    return [*row.options.values(), *known, row.digest[:_DIGEST_SHOWN] or "-"]


def _agreement(row: Row) -> Cell:
    if row.agrees is None:
        return ("not compared", "bold yellow") if row.difference else "-"
    return ("same", "green") if row.agrees else ("DIFFERS", "bold red")


def _change(row: Row, baseline: Row | None, by: By) -> str:
    if baseline is None or baseline.state != "ok" or not figure(baseline, by):
        return ""
    change = figure(row, by) / figure(baseline, by) - 1
    return f" ({change:+.1%} against the baseline)" if change else " (as the baseline)"

"""Sorts rows, and finds the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

from optctx.errors import OptctxError, shown
from optctx.lab.sweep.row import Row

__all__ = ["FIGURES", "UNITS", "By", "best_rows", "check_column", "figure", "number", "sorted_rows"]

By = Literal["size", "instructions", "seconds"]
FIGURES: tuple[By, ...] = get_args(By)
_FIELDS: dict[str, str] = {"size": "object_size", "instructions": "instructions", "seconds": "seconds"}
UNITS: dict[By, str] = {"size": "object bytes", "instructions": "IR instructions", "seconds": "seconds"}
_TEXTS = ("file", "state", "digest")
_NUMBERS = ("instructions", "object_size", "seconds")


def figure(row: Row, by: By) -> float:
    """The number that rows are compared by."""
    return float(getattr(row, _FIELDS[by]))


def best_rows(rows: Sequence[Row], by: By) -> list[Row]:
    """The combination with the least figure for each file; the first one if several are equal."""
    best: dict[str, Row] = {}
    for row in rows:
        if row.state != "ok" or row.baseline:
            continue
        if row.file not in best or figure(row, by) < figure(best[row.file], by):
            best[row.file] = row
    return list(best.values())


def check_column(column: str, names: Sequence[str]) -> str:
    """Return the column's name without dashes. Raises OptctxError if rows over these options lack it."""
    name = column.lstrip("-")
    columns = [*names, *_TEXTS, *_NUMBERS]
    if name not in columns:
        raise OptctxError(f"cannot sort by {shown(column)}: expected one of {', '.join(columns)}")
    return name


def sorted_rows(rows: Sequence[Row], column: str) -> list[Row]:
    """The rows in ascending order of a column. Rows without a number in it come last.

    Raises OptctxError for a name that is not a column.
    """
    if not rows:
        return []
    name = check_column(column, list(rows[0].options))
    if name in rows[0].options:
        return sorted(rows, key=lambda row: _value(row.options[name]))
    if name in _TEXTS:
        return sorted(rows, key=lambda row: str(getattr(row, name)))
    return sorted(rows, key=lambda row: (row.state != "ok", getattr(row, name)))


def number(text: str) -> float | None:
    """The number that a text stands for, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _value(text: str) -> tuple[bool, float, str]:
    """A sort key: numbers by size, then words."""
    value = number(text)
    return value is None, value or 0.0, text

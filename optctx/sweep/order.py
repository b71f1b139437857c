"""The order of rows, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

from optctx.errors import OptctxError, shown
from optctx.sweep.row import Row

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
    """The combination of each file with the least figure, the first of equal ones."""
    best: dict[str, Row] = {}
    for row in rows:
        if row.state != "ok" or row.baseline:
            continue
        if row.file not in best or figure(row, by) < figure(best[row.file], by):
            best[row.file] = row
    return list(best.values())


def check_column(column: str, names: Sequence[str]) -> str:
    """The column that rows over these options have under that name. Raises OptctxError if there is none."""
    name = column.lstrip("-")
    columns = [*names, *_TEXTS, *_NUMBERS]
    if name not in columns:
        raise OptctxError(f"cannot sort by {shown(column)}: expected one of {', '.join(columns)}")
    return name


def sorted_rows(rows: Sequence[Row], column: str) -> list[Row]:
    """The rows in ascending order of a column; those without a number in it come last.

    Raises OptctxError for a name that is no column.
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
    """The number that a value is, if it is one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _value(text: str) -> tuple[bool, float, str]:
    """Numbers as numbers, ahead of words."""
    value = number(text)
    return value is None, value or 0.0, text

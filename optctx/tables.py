"""Tables for people, made with rich. A cell is a text on one line, whatever a name or a value holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.cells import cell_len
from rich.table import Column, Table
from rich.text import Text

from optctx.wording import printable

__all__ = ["Cell", "Table", "add_row", "needed_width", "ruled_table", "table", "without_column"]

_GAP = 2  # between two columns
_WORDS = 20  # columns for a text that is wrapped

Cell = str | tuple[str, str]  # a text, or a text and rich's style for it


def table(
    headings: Iterable[str],
    rows: Iterable[Sequence[Cell]],
    *,
    whole: Sequence[str] = (),
    right: Sequence[str] = (),
) -> Table:
    """A table without rules. Columns with a heading in `whole` are never wrapped; `right` aligns them."""
    made = Table(box=None, header_style="bold", pad_edge=False)
    _add_columns(made, headings, whole, right)
    for row in rows:
        add_row(made, row)
    return made


def ruled_table(headings: Iterable[str], *, right: Sequence[str] = ()) -> Table:
    """A table with rules and no rows yet."""
    made = Table(header_style="bold")
    _add_columns(made, headings, (), right)
    return made


def add_row(made: Table, cells: Iterable[Cell]) -> None:
    """Add a row of texts, in which nothing is markup."""
    made.add_row(*map(_text, cells))


def without_column(made: Table, heading: str) -> Table:
    """The table without the column of that heading."""
    kept = [column for column in made.columns if str(column.header) != heading]
    left = Table(box=made.box, header_style=made.header_style, pad_edge=made.pad_edge)
    for column in kept:
        left.add_column(
            column.header, justify=column.justify, no_wrap=column.no_wrap, overflow=column.overflow
        )
    for cells in zip(*(column.cells for column in kept), strict=True):
        left.add_row(*cells)
    return left


def needed_width(made: Table) -> int:
    """The columns in which a table can be read: a text that is wrapped has room for some words."""
    return sum(map(_needed, made.columns)) + _GAP * (len(made.columns) - 1)


def _needed(column: Column) -> int:
    lines = [column.header, *column.cells]
    longest = max(cell_len(str(line)) for line in lines)
    if column.no_wrap:
        return longest
    words = (word for line in lines for word in str(line).split())
    return min(longest, max(_WORDS, *map(cell_len, words)))


def _add_columns(made: Table, headings: Iterable[str], whole: Sequence[str], right: Sequence[str]) -> None:
    for heading in headings:
        layout: dict[str, Any] = {"justify": "right"} if heading in right else {}
        made.add_column(_text(heading), no_wrap=heading in whole, **layout)


def _text(cell: Cell) -> Text:
    text, style = (cell, "") if isinstance(cell, str) else cell
    return Text(printable(text), style)

"""Tables for people, made with rich. A cell is a text on one line, whatever a name or a value holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import rich.table
from rich.cells import cell_len
from rich.text import Text

from optctx.wording import printable

_WORDS = 20  # columns for a text that is wrapped

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))

Cell = str | tuple[str, str]  # a text, or a text and rich's style for it


def time_unit(seconds: float) -> tuple[float, str]:
    """The unit that suits a time: its size in seconds, and its name."""
    return next((each for each in _UNITS if abs(seconds) >= each[0]), _UNITS[-1])


@dataclass(frozen=True)
class Table:
    """A table, which rich prints. None in place of a row ends a section.

    `whole`: headings of the columns that are not wrapped. `right`: of those that are aligned to the right.
    `least`: of those that a narrow terminal does without, the first to go first. `ruled`: with lines around
    the cells.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell] | None]
    whole: Sequence[str] = ()
    right: Sequence[str] = ()
    least: Sequence[str] = ()
    ruled: bool = False

    def fitted(self, width: int | None = None) -> rich.table.Table:
        """Make what rich prints in so many columns: it folds what there is no room for. None is no limit."""
        narrow = width is not None and self._needed > width
        if narrow and self.least:
            return self._without(self.least[0]).fitted(width)
        more: dict[str, Any] = {} if self.ruled else {"box": None, "pad_edge": False}
        made = rich.table.Table(header_style="bold", **more)
        for heading in self.headings:
            made.add_column(
                _text(heading),
                justify="right" if heading in self.right else "left",
                no_wrap=heading in self.whole and not narrow,
                overflow="fold",
            )
        for row in self.rows:
            if row is None:
                made.add_section()
            else:
                made.add_row(*map(_text, row))
        return made

    __rich__ = fitted

    def _without(self, heading: str) -> Table:
        place = self.headings.index(heading)
        rows = [row and (*row[:place], *row[place + 1 :]) for row in self.rows]
        headings = [*self.headings[:place], *self.headings[place + 1 :]]
        return replace(self, headings=headings, rows=rows, least=self.least[1:])

    @property
    def _needed(self) -> int:
        """The columns in which it can be read: a text that is wrapped has room for some words."""
        columns = zip(self.headings, *filter(None, self.rows), strict=True)
        needed = [_needed([_text(cell).plain for cell in each], each[0] in self.whole) for each in columns]
        between, edges = (3, 4) if self.ruled else (2, 0)
        return sum(needed) + between * (len(needed) - 1) + edges


def _needed(lines: Sequence[str], whole: bool) -> int:
    longest = max(map(cell_len, lines))
    words = (cell_len(word) for line in lines for word in line.split())
    return longest if whole else min(longest, max((_WORDS, *words)))


def _text(cell: Cell) -> Text:
    text, style = (cell, "") if isinstance(cell, str) else cell
    return Text(printable(text), style)

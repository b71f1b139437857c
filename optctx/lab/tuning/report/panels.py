"""Figures for plotly.js as plain data: panels in a grid, and columns of numbers that figures share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

__all__ = ["STATE_COLOURS", "Columns", "Panels"]

STATE_COLOURS = {
    "ok": "#1f77b4",
    "failed": "#7f7f7f",
    "crashed": "#d62728",
    "timed out": "#ff7f0e",
    "wrong result": "#9467bd",
    "pruned": "#bcbd22",
}
_HEIGHT = 300  # pixels of a row of panels
_GAP = 0.09  # of the width, between panels


class Columns:
    """Columns that are written once. In a figure stands `{"column": N}`."""

    def __init__(self) -> None:
        self.all: list[tuple[float, ...]] = []
        self._places: dict[tuple[float, ...], int] = {}

    def of(self, numbers: Sequence[float]) -> dict[str, int]:
        """What stands for these numbers in a figure."""
        key = tuple(numbers)
        if key not in self._places:
            self._places[key] = len(self.all)
            self.all.append(key)
        return {"column": self._places[key]}


class Panels:
    """A figure of panels in a grid, each with two axes."""

    def __init__(self, count: int, columns: int, **layout: Any) -> None:
        self._columns = min(columns, max(count, 1))
        self._rows = math.ceil(max(count, 1) / self._columns)
        self._count = 0
        self._traces: list[dict[str, Any]] = []
        self._layout: dict[str, Any] = {
            "height": 90 + _HEIGHT * self._rows,
            "margin": {"l": 70, "r": 20, "t": 30, "b": 60},
            "hovermode": "closest",
            "showlegend": False,
            "font": {"family": "sans-serif", "size": 12},
            **layout,
        }

    def panel(self, x: dict[str, Any], y: dict[str, Any]) -> str:
        """Start the next panel, with these axes. The name of its axes without "x" or "y"."""
        row, column = divmod(self._count, self._columns)
        self._count += 1
        name = "" if self._count == 1 else str(self._count)
        gap = 70 / (90 + _HEIGHT * self._rows) * 1.3  # room for titles and ticks
        self._layout[f"xaxis{name}"] = {
            "domain": _share(column, self._columns, _GAP),
            "anchor": f"y{name}",
            "automargin": True,
            "zeroline": False,
            **x,
        }
        low, high = _share(row, self._rows, gap)
        self._layout[f"yaxis{name}"] = {"domain": [1 - high, 1 - low], "anchor": f"x{name}", **y}
        return name

    def rug(self, panel: str) -> str:
        """A second y axis of a panel from 0 to 1, without ticks. Its name."""
        name = f"{100 + int(panel or 1)}"
        self._layout[f"yaxis{name}"] = {
            "overlaying": f"y{panel}",
            "anchor": f"x{panel}",
            "range": [0, 1],
            "visible": False,
            "fixedrange": True,
        }
        return name

    def add(self, panel: str, trace: dict[str, Any], y: str | None = None) -> None:
        """Draw in a panel, or on its axis `y`."""
        own = panel if y is None else y
        self._traces.append({"type": "scatter", **trace, "xaxis": f"x{panel}", "yaxis": f"y{own}"})

    def figure(self) -> dict[str, Any]:
        """As plotly.js takes it."""
        return {"data": self._traces, "layout": self._layout}


def _share(place: int, count: int, gap: float) -> list[float]:
    """The part of the whole that one of several panels has, from 0 to 1."""
    size = (1 - gap * (count - 1)) / count
    start = place * (size + gap)
    return [round(start, 4), round(min(start + size, 1.0), 4)]

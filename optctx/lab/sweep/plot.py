"""Draws a sweep as a curve over one option, or as a heat map over two. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from optctx.errors import OptctxError
from optctx.lab.sweep.grid import DEFAULT, Axis
from optctx.lab.sweep.order import UNITS, By, figure, number
from optctx.lab.sweep.row import Row
from optctx.plots import check_plot, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["check_sweep_plot", "save_sweep_plot"]

_MOST_PANELS = 9  # files in heat maps
_TICKS = 16  # values that fit on an axis
_WRITTEN = 150  # the most cells that show their numbers
_WIDE = 32  # an axis is logarithmic if its largest value is this many times its least
_DEAD = "crashed, timed out or failed"


def check_sweep_plot(path: str, axes: Sequence[Axis], files: int) -> None:
    """Raise OptctxError, before any work, for a plot that `save_sweep_plot` cannot draw."""
    check_plot(path)
    varied = _varied(axes)
    if len(varied) not in (1, 2):
        raise OptctxError(
            f"cannot plot {len(varied)} options with several values: expected one for a curve or two for a "
            "heat map"
        )
    if len(varied) == 2 and files > _MOST_PANELS:
        raise OptctxError(f"cannot plot heat maps of {files} files: expected at most {_MOST_PANELS}")


def save_sweep_plot(
    rows: Sequence[Row], axes: Sequence[Axis], path: str, *, by: By = "size", title: str = ""
) -> None:
    """Draw a curve for each file over the one option with several values, or a heat map over two of them.

    The suffix of `path` chooses the format: png, svg or pdf. Baselines are dashed lines. Combinations without
    output are marked. The same rows give the same file.

    Raises OptctxError as `check_sweep_plot` does, and if the file cannot be written.
    """
    files = list(dict.fromkeys(row.file for row in rows))
    check_sweep_plot(path, axes, len(files))
    varied = _varied(axes)
    if len(varied) == 1:
        save_figure(path, (9, 5.5), lambda drawn: _curves(drawn, rows, varied[0], files, by, title))
    else:
        columns = math.ceil(math.sqrt(len(files)))
        size = (2 + 6 * columns, 1 + 5 * math.ceil(len(files) / columns))
        save_figure(path, size, lambda drawn: _heat_maps(drawn, rows, varied, files, by, title))


def _varied(axes: Sequence[Axis]) -> list[Axis]:
    return [axis for axis in axes if len(axis.values) > 1]


# A curve


def _curves(drawn: Figure, rows: Sequence[Row], axis: Axis, files: Sequence[str], by: By, title: str) -> None:
    axes = drawn.add_subplot()
    drawn.suptitle(title, parse_math=False)  # a file's name may have dollar signs
    places = _places(axis)
    dead: set[float] = set()
    for place, name in enumerate(files):
        own = [row for row in rows if row.file == name]
        alive = {places[row.options[axis.name]]: figure(row, by) for row in own if _drawable(row)}
        dead |= {places[row.options[axis.name]] for row in own if row.state != "ok" and not row.baseline}
        colour = f"C{place % 10}"
        points = sorted(alive.items())
        axes.plot(*_columns(points), marker="o", markersize=3.5, color=colour, label=_plain(name or "rows"))
        for row in own:
            if row.baseline and row.state == "ok":
                label = _plain(f"baseline of {name}" if name else "baseline")
                axes.axhline(figure(row, by), linestyle="--", linewidth=0.9, color=colour, label=label)
    if dead:
        bottom = axes.get_xaxis_transform()
        axes.plot(sorted(dead), [0.02] * len(dead), "x", color="tab:red", label=_DEAD, transform=bottom)
    _scale(axes, axis, places)
    axes.set_ylabel(UNITS[by])
    axes.grid(alpha=0.3)
    axes.legend()


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _places(axis: Axis) -> dict[str, float]:
    """The place of each value on the axis: its number, or its index if a value is not a number."""
    numbers = {value: number(value) for value in axis.values}
    known = {value: place for value, place in numbers.items() if place is not None}
    if len(known) == len(axis.values):
        return known
    if len(known) == len(axis.values) - 1 and DEFAULT in numbers:
        return {**known, DEFAULT: math.nan}  # it has no number; the baseline is a line
    return {value: float(place) for place, value in enumerate(axis.values)}


def _scale(axes: Axes, axis: Axis, places: dict[str, float]) -> None:
    axes.set_xlabel(axis.name)
    shown = {value: place for value, place in places.items() if not math.isnan(place)}
    least, most = min(shown.values()), max(shown.values())
    if least > 0 and most / least >= _WIDE:
        axes.set_xscale("log")
    if len(shown) <= _TICKS:
        axes.set_xticks(list(shown.values()), [_plain(value) for value in shown])
        axes.set_xticks([], minor=True)


# Heat maps


def _heat_maps(
    drawn: Figure, rows: Sequence[Row], varied: Sequence[Axis], files: Sequence[str], by: By, title: str
) -> None:
    drawn.suptitle(title, parse_math=False)
    columns = math.ceil(math.sqrt(len(files)))
    for place, name in enumerate(files):
        axes = drawn.add_subplot(math.ceil(len(files) / columns), columns, place + 1)
        if len(files) > 1:
            axes.set_title(name, parse_math=False)
        _heat_map(drawn, axes, [row for row in rows if row.file == name and not row.baseline], varied, by)


def _heat_map(drawn: Figure, axes: Axes, rows: Sequence[Row], varied: Sequence[Axis], by: By) -> None:
    down, across = varied
    cells = {(row.options[down.name], row.options[across.name]): row for row in rows}
    grid = [[_height(cells.get((value, other)), by) for other in across.values] for value in down.values]
    picture = axes.imshow(grid, aspect="auto", cmap="viridis")
    drawn.colorbar(picture, ax=axes, label=UNITS[by])
    axes.set_xlabel(across.name)
    axes.set_ylabel(down.name)
    _name(axes.set_xticks, across.values)
    _name(axes.set_yticks, down.values)
    known = [height for line in grid for height in line if not math.isnan(height)]
    bright = min(known) + 0.6 * (max(known) - min(known)) if known else 0.0
    few = len(down.values) * len(across.values) <= _WRITTEN
    for y, line in enumerate(grid):
        for x, height in enumerate(line):
            if math.isnan(height):
                axes.text(x, y, "x", color="tab:red", ha="center", va="center")
            elif few:
                colour = "white" if height < bright else "black"
                axes.text(x, y, f"{height:.4g}", color=colour, ha="center", va="center", fontsize=7)
    if len(known) < len(rows):
        axes.text(0, -0.12, f"x: {_DEAD}", color="tab:red", transform=axes.transAxes, va="top", fontsize=8)


def _height(row: Row | None, by: By) -> float:
    return figure(row, by) if row is not None and row.state == "ok" else math.nan


def _name(set_ticks: Callable[[list[int], list[str]], object], values: Sequence[str]) -> None:
    step = math.ceil(len(values) / _TICKS)
    chosen = range(0, len(values), step)
    set_ticks(list(chosen), [_plain(values[place]) for place in chosen])


def _drawable(row: Row) -> bool:
    return row.state == "ok" and not row.baseline


def _plain(text: str) -> str:
    """Text that matplotlib does not take for a formula."""
    return text.replace("$", r"\$")

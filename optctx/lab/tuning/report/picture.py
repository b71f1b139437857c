"""A study as one picture: history, importance of options, slices, Pareto front. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from optctx.lab.trials import Goal
from optctx.lab.tuning.report.data import Data, interval_of, known_figure, text_of
from optctx.lab.tuning.report.figures import best_so_far, most_important, pairs_of
from optctx.lab.tuning.report.importance import BEST, importances
from optctx.lab.tuning.report.panels import STATE_COLOURS
from optctx.lab.tuning.report.scales import Scale, scale_of, span
from optctx.lab.tuning.report.texts import LABEL, axis_title, visible
from optctx.lab.tuning.results import Study
from optctx.plots import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["save_picture"]

_WIDTH = 12.0  # inches
_ROW = 3.4  # inches
_ACROSS = 3  # panels of slices
_SLICES = 6  # options
_BARS = 15  # options
_TICKS = 6
_VALUE = 14  # characters
_BEST, _BASE, _FRONT = "tab:green", "dimgray", "tab:red"

Shares = Mapping[str, Mapping[str, float]]


def save_picture(study: Study, path: str, title: str) -> None:
    """Draw the study. Raises OptctxError as `check_plot` does, and if the file cannot be written."""
    data = Data(study)
    shares = importances(data)
    names = most_important(data, shares)[:_SLICES]
    slices = [(name, goal) for goal in study.goals for name in names] if data.done else []
    pairs = pairs_of(study.goals)
    bars = 1 if any(shares.values()) else 0.2
    heights = [len(study.goals), bars, -(-len(slices) // _ACROSS), -(-len(pairs) // 2)]
    kept = [height for height in heights if height]

    def draw(figure: Figure) -> None:
        figure.suptitle(_text(title if study.finished else f"{title}: {study.progress}", 200))
        parts = iter(figure.subfigures(len(kept), 1, height_ratios=kept, squeeze=False)[:, 0])
        _history(next(parts), data)
        _importance(next(parts), data, shares)
        if slices:
            _slices(next(parts), data, slices)
        if pairs:
            _fronts(next(parts), data, pairs)

    save_figure(path, (_WIDTH, 0.6 + _ROW * sum(kept)), draw)


def _history(part: SubFigure, data: Data) -> None:
    goals = data.study.goals
    for axes, goal in zip(_grid(part, len(goals), 1), goals, strict=True):
        numbers = [trial.number for trial in data.done]
        figures = _figures(data, goal)
        axes.plot(numbers, figures, "o", markersize=3, alpha=0.6, color=STATE_COLOURS["ok"], label="trial")
        known = [(each.number, ends) for each in data.done if (ends := interval_of(each, goal)) is not None]
        lows, highs = [ends[0] for _, ends in known], [ends[1] for _, ends in known]
        axes.vlines([at for at, _ in known], lows, highs, color=STATE_COLOURS["ok"], linewidth=0.8, alpha=0.6)
        best = best_so_far(data.done, goal)
        axes.plot(numbers, best, drawstyle="steps-post", color=_BEST, label="best so far")
        if data.base is not None:
            axes.axhline(_figure(data, goal), linestyle="--", linewidth=0.9, color=_BASE, label="base")
        for state in dict.fromkeys(trial.state for trial in data.lost):
            lost = [trial.number for trial in data.lost if trial.state == state]
            colour = STATE_COLOURS.get(state, "black")
            edge = axes.get_xaxis_transform()
            axes.plot(
                lost, [0.02] * len(lost), "x", color=colour, markersize=5, label=_text(state), transform=edge
            )
        _finish(axes, "trial", axis_title(goal))
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8, loc="upper right")


def _importance(part: SubFigure, data: Data, shares: Shares) -> None:
    (axes,) = _grid(part, 1, 1)
    names = most_important(data, shares)[:_BARS] if any(shares.values()) else []
    if not names:
        axes.axis("off")
        axes.text(0.5, 0.5, "importance of options: not known", ha="center", va="center")
        return
    height = 0.8 / len(shares)
    for place, (goal, own) in enumerate(shares.items()):
        rows = [row - 0.4 + height * (place + 0.5) for row in range(len(names))]
        axes.barh(rows, [100 * own.get(name, 0.0) for name in names], height, label=_text(goal))
    axes.set_yticks(range(len(names)), [_text(name) for name in names], fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)  # the first on top
    axes.set_xlabel(f"share in what distinguishes the best {BEST:.0%} of the trials, in % (PED-ANOVA)")
    axes.grid(axis="x", alpha=0.3)
    if len(shares) > 1:
        axes.legend(fontsize=8, loc="upper right")


def _slices(part: SubFigure, data: Data, slices: Sequence[tuple[str, Goal]]) -> None:
    for axes, (name, goal) in zip(_grid(part, len(slices), _ACROSS), slices, strict=True):
        points = [(text, known_figure(t, goal)) for t in data.done if (text := text_of(t, name)) is not None]
        scale = scale_of(text for text, _ in points)
        places = [scale.places[text] for text, _ in points]
        axes.plot(places, [y for _, y in points], "o", markersize=3, alpha=0.5, color=STATE_COLOURS["ok"])
        _value_axis(axes, scale)
        _finish(axes, _text(name), axis_title(goal))


def _value_axis(axes: Axes, scale: Scale) -> None:
    texts = scale.ticks(_TICKS)
    slant: dict[str, Any] = {} if scale.numbers else {"rotation": 20, "ha": "right"}
    axes.set_xticks(
        [scale.places[text] for text in texts], [_text(text, _VALUE) for text in texts], fontsize=8, **slant
    )
    if scale.places:
        axes.set_xlim(span(min(scale.places.values()), max(scale.places.values())))


def _fronts(part: SubFigure, data: Data, pairs: Sequence[tuple[Goal, Goal]]) -> None:
    for axes, (across, up) in zip(_grid(part, len(pairs), 2), pairs, strict=True):
        x, y = _figures(data, across), _figures(data, up)
        axes.plot(x, y, "o", markersize=3, alpha=0.4, color=STATE_COLOURS["ok"], label="trial")
        front = [(known_figure(trial, across), known_figure(trial, up)) for trial in data.front]
        axes.plot(
            [a for a, _ in front],
            [b for _, b in front],
            "o",
            markersize=5,
            color=_FRONT,
            label="Pareto front",
        )
        if data.base is not None:
            axes.plot(_figure(data, across), _figure(data, up), "D", color=_BASE, label="base")
        _finish(axes, axis_title(across), axis_title(up))
        axes.legend(fontsize=8, loc="upper right")


def _grid(part: SubFigure, count: int, across: int) -> list[Axes]:
    columns = min(across, count)
    rows = -(-count // columns)
    return [part.add_subplot(rows, columns, place + 1) for place in range(count)]


def _finish(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(_text(x))
    axes.set_ylabel(_text(y))
    axes.grid(alpha=0.3)


def _figures(data: Data, goal: Goal) -> list[float]:
    return [known_figure(trial, goal) for trial in data.done]


def _figure(data: Data, goal: Goal) -> float:
    return known_figure(data.base, goal) if data.base is not None else 0.0


def _text(text: str, most: int = LABEL) -> str:
    """Text in which matplotlib sees no formula, of characters that its font has."""
    known = "".join(each if ord(each) in _glyphs() else "?" for each in visible(text, most))
    return known.replace("$", r"\$")


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())

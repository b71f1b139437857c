"""The figures of the HTML report with an axis for each option: slices, and parallel coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optctx.lab.trials import Goal
from optctx.lab.tuning.report.data import Data, known_figure, text_of
from optctx.lab.tuning.report.figures import title_of
from optctx.lab.tuning.report.panels import STATE_COLOURS, Columns, Panels
from optctx.lab.tuning.report.scales import Scale, scale_of, span
from optctx.lab.tuning.report.texts import axis_title, plotly_text, visible

__all__ = ["SHOWN", "parallel_figure", "slices_figure"]

SHOWN = 12  # options
_ACROSS = 3  # panels
_TICKS = 9
_POINTS = 10_000  # from here on they are drawn by WebGL
_LABEL = 24  # characters of a value
_UNSET = "(not set)"


def slices_figure(data: Data, names: Sequence[str], columns: Columns) -> dict[str, Any]:
    """The figures over the values of each option: a panel for each option and objective."""
    goals = data.study.goals
    panels = Panels(len(names) * len(goals), _ACROSS)
    many = len(data.done) * len(names) * len(goals) > _POINTS
    for name in names:
        trials = [(trial, text) for trial in data.done if (text := text_of(trial, name)) is not None]
        scale = scale_of(text for _, text in trials)
        numbers = columns.of([trial.number for trial, _ in trials])
        values = columns.of([scale.values[text] for _, text in trials])
        for goal in goals:
            panel = panels.panel(_axis(name, scale), {"title": title_of(goal), "automargin": True})
            panels.add(
                panel,
                {
                    "type": "scattergl" if many else "scatter",
                    "mode": "markers",
                    "x": values,
                    "y": columns.of([known_figure(trial, goal) for trial, _ in trials]),
                    "customdata": numbers,
                    "marker": {"color": STATE_COLOURS["ok"], "size": 5, "opacity": 0.5},
                    "hovertemplate": "trial %{customdata}: %{y} at %{x}<extra></extra>",
                },
            )
    return panels.figure()


def _axis(name: str, scale: Scale) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": plotly_text(name)}}
    if scale.log:
        axis["type"] = "log"
    if scale.few or not scale.numbers:
        texts = scale.ticks(_TICKS)
        axis["tickvals"] = [scale.values[text] for text in texts]
        axis["ticktext"] = [plotly_text(text, _LABEL) for text in texts]
    places = list(scale.places.values()) or [0.0]
    axis["range"] = span(min(places), max(places))  # that of a logarithmic axis is in powers of ten
    return axis


def parallel_figure(data: Data, names: Sequence[str], columns: Columns) -> dict[str, Any]:
    """A line for each trial through the values of its options and its figures."""
    goal = data.study.goals[0]
    figures = [known_figure(trial, goal) for trial in data.done]
    axes = [_options_axis(data, name, columns) for name in names]
    axes += [_figures_axis(data, each, columns) for each in data.study.goals]
    low, high = span(min(figures, default=0.0), max(figures, default=0.0))
    lines = {
        "color": columns.of(figures),
        "cmin": low,
        "cmax": high,
        "colorscale": "Viridis",
        "reversescale": goal.direction == "maximise",
        "showscale": True,
        "colorbar": {"title": title_of(goal)},
    }
    layout = {"height": 460, "margin": {"l": 90, "r": 60, "t": 90, "b": 40}, "font": {"family": "sans-serif"}}
    trace = {"type": "parcoords", "dimensions": axes, "line": lines, "labelangle": -20}
    return {"data": [trace], "layout": layout}


def _options_axis(data: Data, name: str, columns: Columns) -> dict[str, Any]:
    """An axis with a place below the others for trials in which the option does not count."""
    texts = [text_of(trial, name) for trial in data.done]
    scale = scale_of(text for text in texts if text is not None)
    places = list(scale.places.values()) or [0.0]
    low, high = span(min(places), max(places))
    ticks = {scale.places[text]: visible(text, _LABEL) for text in scale.ticks(_TICKS)}
    unset = low - 0.1 * (high - low)
    if None in texts:
        ticks[unset] = _UNSET
        low = unset
    return {
        "label": plotly_text(name, _LABEL),
        "values": columns.of([unset if text is None else scale.places[text] for text in texts]),
        "range": [low, high],
        "tickvals": list(ticks),
        "ticktext": list(ticks.values()),
    }


def _figures_axis(data: Data, goal: Goal, columns: Columns) -> dict[str, Any]:
    figures = [known_figure(trial, goal) for trial in data.done]
    return {
        "label": plotly_text(axis_title(goal), _LABEL),
        "values": columns.of(figures),
        "range": list(span(min(figures, default=0.0), max(figures, default=0.0))),
    }

"""The figures of the HTML report that are about trials as a whole: history, importance, Pareto front."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from optctx.lab.trials import Goal, Trial
from optctx.lab.tuning.report.data import Data, figure_of, interval_of, known_figure
from optctx.lab.tuning.report.panels import STATE_COLOURS, Columns, Panels
from optctx.lab.tuning.report.texts import axis_title, plotly_text

__all__ = ["SHOWN", "best_so_far", "front_figure", "history_figure", "importance_figure", "pairs_of"]

SHOWN = 20  # options in the chart of importances
_PAIRS = 6  # of objectives
_BEST, _BASE = "#2ca02c", "#444444"
_TITLE = 45  # characters


def title_of(goal: Goal) -> dict[str, str]:
    return {"text": plotly_text(axis_title(goal), _TITLE)}


def best_so_far(trials: Sequence[Trial], goal: Goal) -> list[float]:
    """The best figure up to each trial. All have figures."""
    pick = min if goal.direction == "minimise" else max
    return list(itertools.accumulate((known_figure(trial, goal) for trial in trials), pick))


def history_figure(data: Data, columns: Columns) -> dict[str, Any]:
    """The figure of each trial, the best so far, and where trials have none."""
    goals = data.study.goals
    panels = Panels(
        len(goals), 1, showlegend=True, legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"}
    )
    numbers = [trial.number for trial in data.done]
    for place, goal in enumerate(goals):
        first = place == 0
        panel = panels.panel({"title": {"text": "trial"}}, {"title": title_of(goal)})
        figures = [known_figure(trial, goal) for trial in data.done]
        panels.add(
            panel,
            {
                "mode": "markers",
                "name": "trial",
                "x": columns.of(numbers),
                "y": columns.of(figures),
                "customdata": columns.of(numbers),
                "marker": {"color": STATE_COLOURS["ok"], "size": 5, "opacity": 0.6},
                "hovertemplate": "trial %{x}: %{y}<extra></extra>",
                "showlegend": first,
                **_error_bars(data, goal, figures, columns),
            },
        )
        panels.add(
            panel,
            {
                "mode": "lines",
                "name": "best so far",
                "x": columns.of(numbers),
                "y": columns.of(best_so_far(data.done, goal)),
                "line": {"color": _BEST, "shape": "hv"},
                "hoverinfo": "skip",
                "showlegend": first,
            },
        )
        _draw_base(panels, panel, data, goal, first)
        _draw_lost(panels, panel, data, first)
    return panels.figure()


def _error_bars(data: Data, goal: Goal, figures: Sequence[float], columns: Columns) -> dict[str, Any]:
    """The confidence intervals, where any was measured."""
    found = [interval_of(trial, goal) for trial in data.done]
    if not any(found):
        return {}
    ends = [each or (figure, figure) for each, figure in zip(found, figures, strict=True)]
    above = [max(0.0, end[1] - figure) for end, figure in zip(ends, figures, strict=True)]
    below = [max(0.0, figure - end[0]) for end, figure in zip(ends, figures, strict=True)]
    bars = {"type": "data", "symmetric": False, "thickness": 1, "width": 0}
    return {"error_y": {**bars, "array": columns.of(above), "arrayminus": columns.of(below)}}


def _draw_base(panels: Panels, panel: str, data: Data, goal: Goal, legend: bool) -> None:
    if data.base is None or not data.study.trials:
        return
    figure = figure_of(data.base, goal)
    ends = [min(each.number for each in data.study.trials), max(each.number for each in data.study.trials)]
    panels.add(
        panel,
        {
            "mode": "lines",
            "name": "base",
            "x": [ends[0] - 0.5, ends[1] + 0.5],
            "y": [figure, figure],
            "line": {"color": _BASE, "dash": "dash", "width": 1},
            "hovertemplate": "base: %{y}<extra></extra>",
            "showlegend": legend,
        },
    )


def _draw_lost(panels: Panels, panel: str, data: Data, legend: bool) -> None:
    """Marks on the lower edge for trials without figures."""
    states = dict.fromkeys(trial.state for trial in data.lost)
    rug = panels.rug(panel) if states else ""
    for state in states:
        numbers = [trial.number for trial in data.lost if trial.state == state]
        trace = {
            "mode": "markers",
            "name": plotly_text(state),
            "x": numbers,
            "y": [0.02] * len(numbers),
            "customdata": numbers,
            "marker": {"symbol": "x", "size": 6, "color": STATE_COLOURS.get(state, "#000000")},
            "hovertemplate": "trial %{x}<extra>%{fullData.name}</extra>",
            "showlegend": legend,
        }
        panels.add(panel, trace, rug)


def importance_figure(data: Data, shares: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Bars for the share of each option. `shares`: by objective and option."""
    names = most_important(data, shares)[:SHOWN]
    panels = Panels(1, 1, height=110 + 24 * max(len(names), 2) * max(len(shares), 1), barmode="group")
    places = list(range(len(names)))
    labels = {"tickvals": places, "ticktext": [plotly_text(name) for name in names]}
    ends = [max(len(names), 1) - 0.5, -0.5]  # the first on top
    panel = panels.panel(
        {"title": {"text": "share in %"}, "rangemode": "tozero"},
        {**labels, "range": ends, "automargin": True, "fixedrange": True},
    )
    for goal in data.study.goals:
        own = shares.get(goal.name) or {}
        trace = {
            "type": "bar",
            "orientation": "h",
            "name": plotly_text(goal.name),
            "y": places,
            "x": [round(100 * own.get(name, 0.0), 2) for name in names],
            "hovertemplate": "%{y}: %{x} %<extra>%{fullData.name}</extra>",
        }
        panels.add(panel, trace)
    figure = panels.figure()
    figure["layout"]["showlegend"] = len(data.study.goals) > 1
    return figure


def most_important(data: Data, shares: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The options by their largest share; those without any behind them, as the study has them."""
    largest = {name: max((own.get(name, 0.0) for own in shares.values()), default=0.0) for name in data.names}
    return sorted(data.names, key=lambda name: -largest[name])


def pairs_of(goals: Sequence[Goal]) -> list[tuple[Goal, Goal]]:
    """The pairs of objectives that are drawn against each other."""
    return list(itertools.combinations(goals, 2))[:_PAIRS]


def front_figure(data: Data, columns: Columns) -> dict[str, Any]:
    """A panel for each pair of objectives, with the Pareto front marked."""
    pairs = pairs_of(data.study.goals)
    panels = Panels(
        len(pairs), 2, showlegend=True, legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"}
    )
    for place, (across, up) in enumerate(pairs):
        panel = panels.panel({"title": title_of(across)}, {"title": title_of(up)})
        base = [] if data.base is None else [data.base]
        for name, trials, marker in (
            ("trial", data.done, {"color": STATE_COLOURS["ok"], "size": 5, "opacity": 0.4}),
            ("Pareto front", data.front, {"color": "#d62728", "size": 9}),
            ("base", base, {"color": _BASE, "size": 11, "symbol": "diamond"}),
        ):
            panels.add(
                panel,
                {
                    "mode": "markers",
                    "name": name,
                    "x": columns.of([known_figure(trial, across) for trial in trials]),
                    "y": columns.of([known_figure(trial, up) for trial in trials]),
                    "customdata": columns.of([trial.number for trial in trials]),
                    "marker": marker,
                    "hovertemplate": f"{name}"
                    + (" %{customdata}" if name != "base" else "")
                    + ": %{x}, %{y}<extra></extra>",
                    "showlegend": place == 0,
                },
            )
    return panels.figure()

"""The figures of a report, as plotly.js takes them."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from optctx.lab.report.optuna_study import options_of, wide
from optctx.lab.report.texts import axis_title, figure_text, markup, visible
from optctx.lab.space import number_of
from optctx.lab.trials import Goal, Trial
from optctx.lab.tuning.objectives import interval_of
from optctx.lab.tuning.results import Study

SHOWN = 12  # options with an axis of their own
STATE_COLOURS = {
    "ok": "#1f77b4",
    "failed": "#7f7f7f",
    "crashed": "#d62728",
    "timed out": "#ff7f0e",
    "wrong result": "#9467bd",
    "pruned": "#bcbd22",
}
_BEST, _BASE = "#2ca02c", "#888888"
_POINT = {"color": STATE_COLOURS["ok"], "size": 5, "opacity": 0.6}
_PAIRS = 6  # of objectives
_BARS = 20  # options
_POINTS, _LEAST = 20_000, 300  # of all slices, and of one
_TICKS = 9
_LABEL, _SHORT = 40, 24  # characters
_LEGEND = {"showlegend": True, "legend": {"orientation": "h", "y": 1.1}}

Drawn = dict[str, Any]  # a figure as plotly.js takes it, or a part of one
Points = Mapping[int, Mapping[str, str]]  # the options of trials by their numbers


def figures_of(study: Study, shares: Mapping[str, Mapping[str, float]]) -> dict[str, list[tuple[str, Drawn]]]:
    """For each section its figures, each with what it shows in words: those that have something to draw.

    Every text in them is escaped, for plotly.js takes most as markup. Trials stand in `customdata` by their
    numbers. `shares`: of the options, by objective.
    """
    done = [trial for trial in study.trials if trial.state == "ok"]
    found: dict[str, list[tuple[str, Drawn]]] = {}
    if study.trials:
        found["history"] = [(f"History of {goal.name}", _history(study, goal)) for goal in study.goals]
    if not done:
        return found
    if any(shares.values()):
        found["importance"] = [("Importance of options", _importance(shares))]
    if len(study.goals) > 1:
        pairs = list(itertools.combinations(study.goals, 2))[:_PAIRS]
        found["front"] = [
            (f"{up.name} over {across.name}", _front(study, across, up)) for across, up in pairs
        ]
    points = {trial.number: options_of(trial, len(study.pipelines) > 1) for trial in done}
    names = sorted(
        dict.fromkeys(name for point in points.values() for name in point),
        key=lambda name: -max((own.get(name, 0.0) for own in shares.values()), default=0.0),
    )[:SHOWN]
    if not names:
        return found
    scales = {name: _Scale(point[name] for point in points.values() if name in point) for name in names}
    drawn = _some(done, most_drawn(len(names) * len(study.goals)))
    found["slices"] = [
        (f"{goal.name} by {name}", _slice(name, goal, drawn, scales[name], points))
        for name in names
        for goal in study.goals
    ]
    found["parallel"] = [("Parallel coordinates", _parallel(study.goals, done, points, scales))]
    return found


def most_drawn(panels: int) -> int:
    """How many trials each of so many slices shows: a browser draws them all."""
    return max(_LEAST, _POINTS // max(panels, 1))


def _some(trials: Sequence[Trial], most: int) -> Sequence[Trial]:
    """Some trials by chance, always the same ones, in their order."""
    if len(trials) <= most:
        return trials
    return [trials[place] for place in sorted(random.Random(0).sample(range(len(trials)), most))]


class _Scale:
    """Where the texts of an option stand on an axis: by number if all are, otherwise side by side."""

    def __init__(self, texts: Iterable[str]) -> None:
        distinct = list(dict.fromkeys(texts))
        numbers = {text: number for text in distinct if (number := number_of(text)) is not None}
        self.numeric = len(numbers) == len(distinct)
        ordered = sorted(distinct, key=lambda text: (numbers.get(text, math.inf), text))
        self.log = self.numeric and wide(numbers.values())
        self.places = numbers if self.numeric else {text: float(place) for place, text in enumerate(ordered)}
        few = ordered if len(ordered) <= _TICKS else []
        if not self.numeric and not few:
            few = [ordered[round(place * (len(ordered) - 1) / (_TICKS - 1))] for place in range(_TICKS)]
        self.ticks = {text: self.places[text] for text in few}

    def axis(self, title: str) -> Drawn:
        """An axis of a figure with two."""
        ticks = {
            "tickvals": list(self.ticks.values()),
            "ticktext": [markup(text, _LABEL) for text in self.ticks],
        }
        own = {"title": {"text": markup(title, _LABEL)}, **(ticks if self.ticks else {})}
        return {**own, "type": "log"} if self.log else own


def labels_of(study: Study) -> dict[int, str]:
    """What a trial is called where the pointer is over it: its number, options and figures."""
    varied = len(study.pipelines) > 1
    return {
        trial.number: "<br>".join(
            [
                f"<b>trial {trial.number}</b>",
                *([markup(trial.passes, _LABEL)] if varied else []),
                *(f"{markup(name, _LABEL)}={markup(text, _LABEL)}" for name, text in trial.options.items()),
                *(
                    f"{markup(goal.name, _LABEL)}: {markup(figure_text(trial.objectives[goal.name], goal))}"
                    for goal in study.goals
                    if goal.name in trial.objectives
                ),
                *([markup(trial.state)] if trial.state != "ok" else []),
            ]
        )
        for trial in study.trials
    }


def times_interval(trial: Trial, goal: Goal) -> tuple[float, float] | None:
    """The confidence interval of a run time, as a multiple of the base's; None for other objectives."""
    ratio = interval_of(trial, "ratio") if goal.confirmed else None  # above 1 is faster than the base
    return None if ratio is None else (1 / ratio.high, 1 / ratio.low)


def _history(study: Study, goal: Goal) -> Drawn:
    """The figure of each trial with its interval, the best so far, and where trials have none."""
    done = [trial for trial in study.trials if trial.state == "ok"]
    numbers = [trial.number for trial in done]
    figures = [trial.objectives[goal.name] for trial in done]
    pick: Callable[[float, float], float] = min if goal.direction == "minimise" else max
    traces: list[Drawn] = [
        {**_marks("trial", done, numbers, figures, _POINT), **_error_bars(done, goal)},
        {
            "type": "scatter",
            "mode": "lines",
            "name": "best so far",
            "x": numbers,
            "y": list(itertools.accumulate(figures, pick)),
            "line": {"color": _BEST, "shape": "hv"},
            "hoverinfo": "skip",
        },
    ]
    every = [trial.number for trial in study.trials]
    if study.base.state == "ok":
        ends = [min(every) - 0.5, max(every) + 0.5]
        line = {"color": _BASE, "dash": "dash", "width": 1}
        base = {"type": "scatter", "mode": "lines", "name": "base", "x": ends, "line": line}
        traces.append({**base, "y": [study.base.objectives[goal.name]] * 2})
    for state in dict.fromkeys(trial.state for trial in study.trials if trial.state != "ok"):
        lost = [trial for trial in study.trials if trial.state == state]
        marker = {"symbol": "x", "size": 6, "color": STATE_COLOURS.get(state, "#000000")}
        x, y = [trial.number for trial in lost], [0.02] * len(lost)
        traces.append({**_marks(markup(state), lost, x, y, marker), "yaxis": "y2"})
    edge = {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}
    layout = {"xaxis": _axis("trial"), "yaxis": _axis(axis_title(goal), figures), "yaxis2": edge}
    return {"data": traces, "layout": {**layout, **_LEGEND}}


def _marks(name: str, of: Sequence[Trial], x: Iterable[float], y: Iterable[float], marker: Drawn) -> Drawn:
    own = {"type": "scatter", "mode": "markers", "name": name, "x": list(x), "y": list(y), "marker": marker}
    return {**own, "customdata": [trial.number for trial in of]}


def _error_bars(done: Sequence[Trial], goal: Goal) -> Drawn:
    """The confidence intervals, where any was measured."""
    found = [times_interval(trial, goal) for trial in done]
    if not any(found):
        return {}
    figures = [trial.objectives[goal.name] for trial in done]
    ends = [each or (figure, figure) for each, figure in zip(found, figures, strict=True)]
    above = [max(0.0, end[1] - figure) for end, figure in zip(ends, figures, strict=True)]
    below = [max(0.0, figure - end[0]) for end, figure in zip(ends, figures, strict=True)]
    bars = {"type": "data", "symmetric": False, "thickness": 1, "width": 0}
    return {"error_y": {**bars, "array": above, "arrayminus": below}}


def _axis(title: str, figures: Iterable[float] = ()) -> Drawn:
    """An axis, logarithmic where its figures are far apart."""
    return {"title": {"text": markup(title, _LABEL)}, **({"type": "log"} if wide(figures) else {})}


def _importance(shares: Mapping[str, Mapping[str, float]]) -> Drawn:
    names = list(dict.fromkeys(name for own in shares.values() for name in own))[:_BARS]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": markup(goal, _LABEL),
            "y": [markup(name, _LABEL) for name in names],
            "x": [round(100 * own.get(name, 0.0), 2) for name in names],
        }
        for goal, own in shares.items()
    ]
    layout: Drawn = {
        "xaxis": {**_axis("share in %"), "rangemode": "tozero"},
        "yaxis": {"autorange": "reversed", "automargin": True, "type": "category"},
        "height": 110 + 24 * max(len(names), 2) * len(shares),
        "showlegend": len(shares) > 1,
    }
    return {"data": traces, "layout": layout}


def _slice(name: str, goal: Goal, drawn: Sequence[Trial], scale: _Scale, points: Points) -> Drawn:
    """The figures of one objective over the values of one option."""
    trials = [trial for trial in drawn if name in points[trial.number]]
    figures = [trial.objectives[goal.name] for trial in trials]
    x = [scale.places[points[trial.number][name]] for trial in trials]
    marks = _marks(markup(goal.name), trials, x, figures, _POINT)
    layout = {"xaxis": scale.axis(name), "yaxis": _axis(axis_title(goal), figures), "showlegend": False}
    return {"data": [marks], "layout": layout}


def _front(study: Study, across: Goal, up: Goal) -> Drawn:
    """Two objectives against each other, with the Pareto front marked."""
    done = [trial for trial in study.trials if trial.state == "ok"]
    base = [study.base] if study.base.state == "ok" else []

    def drawn(name: str, trials: Sequence[Trial], marker: Drawn) -> Drawn:
        x, y = ([trial.objectives[goal.name] for trial in trials] for goal in (across, up))
        return _marks(name, trials, x, y, marker)

    traces = [
        drawn("trial", done, {**_POINT, "opacity": 0.4}),
        drawn("Pareto front", study.front, {"color": _BEST, "size": 9}),
        drawn("base", base, {"color": _BASE, "size": 11, "symbol": "diamond"}),
    ]
    x, y = _axis(axis_title(across), traces[0]["x"]), _axis(axis_title(up), traces[0]["y"])
    return {"data": traces, "layout": {"xaxis": x, "yaxis": y, **_LEGEND}}


def _parallel(
    goals: Sequence[Goal], done: Sequence[Trial], points: Points, scales: Mapping[str, _Scale]
) -> Drawn:
    """A line for each trial through the values of its options and its figures."""
    goal = goals[0]
    figures = [trial.objectives[goal.name] for trial in done]
    options = [
        _option_axis(name, [points[trial.number].get(name) for trial in done], scales[name])
        for name in scales
    ]
    own = [
        {"label": markup(axis_title(each), _SHORT), "values": [trial.objectives[each.name] for trial in done]}
        for each in goals
    ]
    line = {
        "color": figures,
        "colorscale": "Viridis",
        "reversescale": goal.direction == "maximise",
        "showscale": True,
        "colorbar": {"title": {"text": markup(axis_title(goal), _SHORT)}},
    }
    trace = {"type": "parcoords", "dimensions": [*options, *own], "line": line, "labelangle": -20}
    return {"data": [trace], "layout": {"margin": {"l": 90, "r": 60, "t": 90, "b": 40}}}


def _option_axis(name: str, texts: Sequence[str | None], scale: _Scale) -> Drawn:
    """An axis with a place below the others for trials in which the option does not count."""
    places = {text: math.log10(at) if scale.log else at for text, at in scale.places.items()}
    low, high = min(places.values()), max(places.values())
    ticks = {places[text]: visible(text, _SHORT) for text in scale.ticks or _ends(scale)}
    unset = low - 0.1 * (high - low or 1.0)
    if None in texts:
        ticks[unset] = "(not set)"
    return {
        "label": markup(name, _SHORT),
        "values": [unset if text is None else places[text] for text in texts],
        "range": [min(ticks), max(high, low + 1e-9, *ticks)],
        "tickvals": list(ticks),
        "ticktext": list(ticks.values()),
    }


def _ends(scale: _Scale) -> list[str]:
    ordered = sorted(scale.places, key=scale.places.__getitem__)
    return [ordered[0], ordered[len(ordered) // 2], ordered[-1]]

"""The tables of the HTML report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optctx.lab.tuning.report.commands import quoted
from optctx.lab.tuning.report.data import PASSES, Data, figure_of, interval_of, text_of, times_of
from optctx.lab.tuning.report.texts import axis_title, change_text, figure_text, html_text, seconds_text
from optctx.lab.tuning.results import Goal, Trial
from optctx.wording import counted

__all__ = ["facts_table", "lost_table", "trials_table", "winners_table"]

_CELL = 80  # characters of a value
_ERROR = 160  # of an error in the table of all trials
_REASONS = 50  # different errors
_NAMED = 12  # trials of each
_WINNERS = 50


def trials_table(data: Data) -> str:
    """Every trial: state, options, figures with their intervals, error."""
    goals = data.study.goals
    heads = ["trial", "state", *data.names, *map(axis_title, goals), "error"]
    winners = {trial.number for trial in data.winners}
    base = _row(data, data.study.base, "base", "base")
    rows = [
        _row(data, trial, str(trial.number), "best" if trial.number in winners else "")
        for trial in data.study.trials
    ]
    return _table("trials", heads, [base, *rows])


def winners_table(data: Data) -> str:
    """The base and the winners, with what each objective gained."""
    goals = data.study.goals
    heads = ["", *data.names, *(head for goal in goals for head in (axis_title(goal), "change"))]
    shown = data.winners[:_WINNERS]
    rows = [_winner(data, data.study.base, "base")]
    rows += [
        _winner(data, trial, f'<a href="#t{trial.number:d}">trial {trial.number:d}</a>') for trial in shown
    ]
    more = len(data.winners) - len(shown)
    note = f"<p>{counted(more, 'more trial')} on the front: see the table of all trials.</p>" if more else ""
    return _table("winners", heads, rows) + note


def lost_table(data: Data) -> str:
    """The trials without figures by state and error, the most frequent first."""
    if not data.lost:
        return "<p>Every trial has its figures.</p>"
    reasons: dict[tuple[str, str], list[int]] = {}
    for trial in data.lost:
        reasons.setdefault((trial.state, trial.error), []).append(trial.number)
    ordered = sorted(reasons.items(), key=lambda item: -len(item[1]))
    rows = []
    for (state, error), numbers in ordered[:_REASONS]:
        links = ", ".join(f'<a href="#t{number:d}">{number:d}</a>' for number in numbers[:_NAMED])
        more = f" and {len(numbers) - _NAMED:,} more" if len(numbers) > _NAMED else ""
        rows.append(
            f"<tr><td>{html_text(state)}<td>{len(numbers)}<td>{html_text(error) or '(no message)'}"
            f"<td>{links}{more}"
        )
    left = len(ordered) - _REASONS
    note = f"<p>{counted(left, 'more reason')}: see the table of all trials.</p>" if left > 0 else ""
    return _table("lost", ["state", "trials", "reason", "which"], rows) + note


def facts_table(facts: Mapping[str, Any]) -> str:
    """Names and what they stand for."""
    rows = [f"<tr><th>{html_text(name)}<td>{html_text(_plain(value))}" for name, value in facts.items()]
    return f"<table class=facts><tbody>{''.join(rows)}</table>"


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


def _row(data: Data, trial: Trial, name: str, kind: str) -> str:
    own = f" class={kind}" if kind else ""
    anchor = "" if kind == "base" else f" id=t{trial.number:d}"
    cells = [f"<td>{name}", f"<td>{html_text(trial.state)}", *_options(data, trial)]
    cells += [_figure(trial, goal) for goal in data.study.goals]
    return f"<tr{own}{anchor}>{''.join(cells)}<td>{html_text(trial.error, _ERROR)}{_reproduce(trial)}"


def _reproduce(trial: Trial) -> str:
    """The command that shows a wrong result again."""
    case = trial.attributes.get("reproduce")
    if not isinstance(case, str) or not case:
        return ""
    command = f"optctx time --again {quoted(case)}"
    return f"<br><code>{html_text(command, len(command))}</code>"


def _winner(data: Data, trial: Trial, name: str) -> str:
    cells = [f"<td>{name}", *_options(data, trial)]
    for goal in data.study.goals:
        base = None if data.base is None else figure_of(data.base, goal)
        figure = figure_of(trial, goal)
        known = figure is not None and base is not None and trial is not data.study.base
        change = change_text(figure, base) if known else ""  # type: ignore[arg-type]
        cells += [_figure(trial, goal), f"<td>{change}"]
    return f"<tr>{''.join(cells)}"


def _options(data: Data, trial: Trial) -> Iterable[str]:
    for name in data.names:
        text = text_of(trial, name)
        yield (
            "<td>"
            if text is None or (trial is data.study.base and name != PASSES)
            else (f"<td>{html_text(text, _CELL)}")
        )


def _figure(trial: Trial, goal: Goal) -> str:
    """A figure and its interval. Where its text is no plain number, one to sort by stands beside it."""
    figure = figure_of(trial, goal)
    if figure is None:
        return "<td>"
    text = figure_text(figure, goal)
    key = "" if text == repr(int(figure)) else f" data-v={figure!r}"
    interval = interval_of(trial, goal)
    ends = "" if interval is None else f" ({' to '.join(figure_text(end, goal) for end in interval)})"
    seconds = times_of(trial, "seconds") if goal.confirmed else None
    call = "" if seconds is None else f", {seconds_text(seconds.middle)} a call"
    return f"<td{key}>{text}{ends}{call}"


def _table(name: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f"<th>{html_text(each, _CELL)}" for each in heads)
    return (
        f"<div class=wide><table id={name}><thead><tr>{head}<tbody>\n" + "\n".join(rows) + "\n</table></div>"
    )

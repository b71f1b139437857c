"""The HTML report: one file that asks no network for anything."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from optctx.lab.trials import STATES, Trial
from optctx.lab.tuning.report.commands import Source, reproduction
from optctx.lab.tuning.report.data import Data, known_figure
from optctx.lab.tuning.report.figures import front_figure, history_figure, importance_figure, most_important
from optctx.lab.tuning.report.importance import MEANING, MOST, SURE, importances
from optctx.lab.tuning.report.panels import Columns
from optctx.lab.tuning.report.slices import SHOWN, parallel_figure, slices_figure
from optctx.lab.tuning.report.tables import facts_table, lost_table, trials_table, winners_table
from optctx.lab.tuning.report.texts import change_text, figure_text, html_text
from optctx.lab.tuning.results import Study
from optctx.wording import counted

__all__ = ["as_page", "figures_of"]

# Nothing from any network, and no script but the two whose digests stand here: a text of the study
# that slipped through as one would not run. plotly.js makes shaders with Function.
_POLICY = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-eval' {scripts}"
)
_AGAIN = 5  # trials of a front
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style}</style></head>
<body>
<h1>{title}</h1>
{body}
<script type="application/json" id="data">{data}</script>
<script>{plotly}</script>
<script>{script}</script>
</body></html>
"""


def as_page(study: Study, source: Source, title: str) -> str:
    """The whole page. The same study gives the same page."""
    from plotly.offline import get_plotlyjs

    data = Data(study)
    columns = Columns()
    shares = importances(data)
    figures = figures_of(data, shares, columns)
    plotly, script = _lines(get_plotlyjs()), _lines(_beside("page.js"))
    return _PAGE.format(
        policy=_POLICY.format(scripts=" ".join(map(_digest, (plotly, script)))),
        title=html_text(title or f"Tuning {source.file}"),
        style=_beside("page.css"),
        body="\n".join(_sections(data, source, shares, figures)),
        data=_json({"columns": columns.all, "figures": figures}),
        plotly=plotly,
        script=script,
    )


def figures_of(
    data: Data, shares: Mapping[str, Mapping[str, float]], columns: Columns
) -> dict[str, dict[str, Any]]:
    """The figures by the id of their place: those for which there is something to draw."""
    figures = {}
    if data.study.trials:
        figures["history"] = history_figure(data, columns)
    if any(shares.values()):
        figures["importance"] = importance_figure(data, shares)
    if len(data.study.goals) > 1 and data.done:
        figures["front"] = front_figure(data, columns)
    names = most_important(data, shares)[:SHOWN]
    if names and data.done:
        figures["slices"] = slices_figure(data, names, columns)
        figures["parallel"] = parallel_figure(data, names, columns)
    return figures


def _sections(
    data: Data,
    source: Source,
    shares: Mapping[str, Mapping[str, float]],
    figures: Mapping[str, Any],
) -> list[str]:
    none = "<p>There is nothing to draw.</p>"
    places = {name: f"<div class=figure id={name}></div>" for name in figures}
    several = len(data.study.goals) > 1
    shown = _shown_options(data)
    return [
        _summary(data),
        winners_table(data) if data.winners else "",
        _again(data, source),
        "<h2>History</h2>",
        places.get("history", none),
        "<h2>Importance of options</h2>",
        _importance_note(data, shares),
        places.get("importance", ""),
        *(["<h2>Pareto front</h2>", places.get("front", none)] if several else []),
        "<h2>Slices by option</h2>",
        shown,
        places.get("slices", none),
        "<h2>Parallel coordinates</h2>",
        "<p class=note>A line is a trial. Drag along an axis to select trials, drag its name to move it.</p>",
        shown,
        places.get("parallel", none),
        "<h2>What failed and why</h2>",
        lost_table(data),
        "<h2>Trials</h2>",
        '<p>Filter: <input id=words type=search placeholder="words of a row"> <span id=shown></span> '
        "<span class=note>A click on a heading sorts.</span></p>",
        trials_table(data),
        "<h2>Machine and versions</h2>",
        facts_table({**data.study.machine, **data.study.versions}),
        "<h2>The search</h2>",
        facts_table(_search(data.study, source)),
    ]


def _shown_options(data: Data) -> str:
    left = len(data.names) - SHOWN
    return f"<p class=note>The {SHOWN} most important of {len(data.names)} options.</p>" if left > 0 else ""


def _importance_note(data: Data, shares: Mapping[str, Mapping[str, float]]) -> str:
    if not any(shares.values()):
        why = (
            "fewer than two trials have figures"
            if len(data.done) < 2
            else "no option tells the best trials from the others beyond chance"
        )
        return f"<p>Not known: {why}.</p>"
    count = len(data.done)
    few = f" With {counted(count, 'trial')} (below {SURE}) it is a guess." if count < SURE else ""
    drawn = f" It is of {MOST:,} trials drawn at random." if count > MOST else ""
    return f"<p class=note>{html_text(MEANING)}{few}{drawn}</p>"


def _summary(data: Data) -> str:
    study = data.study
    ended = Counter(trial.state for trial in study.trials)
    states = [f"{ended[state]:,} {state}" for state in STATES if ended[state]]
    counts = f"{counted(len(study.trials), 'trial')}{': ' if states else ''}{', '.join(states)}."
    why = f" The search ended: {html_text(study.ended)}." if study.finished else ""
    how = "" if study.finished else f"<p><strong>{html_text(_sentence(study.progress))}</strong></p>\n"
    return f"{how}<p>{_verdict(data)}</p>\n<p>{counts}{why}</p>"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _verdict(data: Data) -> str:
    """What came out, in a few sentences."""
    goals, so_far = data.study.goals, "" if data.study.finished else " so far"
    best = data.best_so_far if so_far else data.best
    if not data.done:
        return "No trial has figures." if data.study.trials else "There are no trials."
    if len(goals) > 1:
        names = ", ".join(html_text(goal.name) for goal in goals)
        words = f"{counted(len(data.front), 'trial')} on the Pareto front of {names}{so_far}."
    elif best is None and goals[0].confirmed and not so_far:
        words = "No gain in run time was found and confirmed."
    elif best is None:
        words = f"No trial{so_far} is better than the base by {html_text(goals[0].name)}."
    else:
        words = f"<strong>{html_text(_best(data, best))}.</strong>"
    return f"{words}{_confirmation(data)}"


def _best(data: Data, best: Trial) -> str:
    (goal,) = data.study.goals
    figure, unit = known_figure(best, goal), "" if goal.unit == "seconds" else f" {goal.unit}"
    so_far = "" if data.study.finished else " so far"
    words = f"Best{so_far} by {goal.name}: trial {best.number}, {figure_text(figure, goal)}{unit}"
    if goal.confirmed and data.best is None:
        return f"{words}, not confirmed"
    if data.base is None or goal.confirmed:  # a multiple of the base's
        return words
    base = known_figure(data.base, goal)
    change = change_text(figure, base)
    return f"{words} (base {figure_text(base, goal)}{f', {change}' if change else ''})"


def _confirmation(data: Data) -> str:
    """What a second check said about a run time: noise can make a best trial as well."""
    goals, said = data.study.goals, data.study.confirmation
    timed = [goal for goal in goals if goal.confirmed]
    words = []
    if said is not None:
        words.append(f" Second check of trial {said.get('trial')}: {said.get('text')}.")
    elif timed and len(goals) > 1:
        words.append(" No second check has confirmed the run times.")
    if data.noise is not None:
        low, high = (f"{100 * (end - 1):+.2f} %" for end in (data.noise.low, data.noise.high))
        words.append(f" Noise of this machine: the base differed from itself by {low} to {high}.")
    return html_text("".join(words))


def _again(data: Data, source: Source) -> str:
    """The commands that compile as the best trial did, or as each of the first of a front."""
    several = len(data.study.goals) > 1
    parts: list[str] = []
    for trial in data.winners[:_AGAIN]:
        text = _commands(_least(data, trial), source)
        opened = "" if parts else " open"
        name = f"As trial {trial.number:d}"
        parts.append(f"<details{opened}><summary>{name}</summary>{text}</details>" if several else text)
    heading = f"How to compile as {'the front' if several else 'the best'}"
    least = data.study.minimised
    if parts and not several and least is not None:
        count = counted(len(least), "option")
        parts.insert(0, f"<p>With the {count} that trial {data.winners[0].number:d} stands on.</p>")
    return "\n".join([f"<h2>{heading}</h2>", *parts]) if parts else ""


def _least(data: Data, trial: Trial) -> Trial:
    """The best trial with the options alone that it stands on, if that was asked for."""
    least = data.study.minimised
    return trial if least is None or trial is not data.best else replace(trial, options=least)


def _commands(trial: Trial, source: Source) -> str:
    lines = reproduction(trial, source)
    shell = [line for line in (lines.front, lines.opt, lines.llc) if line]
    parts = [f"<p>In a shell, with LLVM's tools of llvmlite's release:</p><pre>{_lines_text(shell)}</pre>"]
    if lines.clang:
        note = "With clang, which sets up its pipeline and its code generator in a way of its own:"
        parts.append(f"<p>{note}</p><pre>{_lines_text([lines.clang])}</pre>")
    parts.append(f"<p>In Python:</p><pre>{_lines_text(lines.python.splitlines())}</pre>")
    return "".join(parts)


def _lines_text(lines: list[str]) -> str:
    """Lines to copy: whole, whatever their length."""
    return "\n".join(html_text(line, len(line)) for line in lines)


def _search(study: Study, source: Source) -> dict[str, Any]:
    return {
        "file": source.file,
        "objectives": ", ".join(f"{goal.name} ({goal.direction})" for goal in study.goals),
        "sampler": study.sampler,
        "seed": study.seed,
        **{f"space {place + 1}": text for place, text in enumerate(study.space)},
        "pipelines": " | ".join(study.pipelines),
        "seconds": f"{study.seconds:.1f} (the last run)",
        "compilations": f"{study.compiled:,}, {study.emitted:,} of them with emission (the last run)",
        "kept in": study.file or "(nowhere)",
        **({"second check": study.confirmation} if study.confirmation is not None else {}),
    }


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _lines(script: str) -> str:
    """A script as browsers read it: its digest is about this text."""
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _digest(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _json(value: Any) -> str:
    """JSON that no text can end as a script of HTML."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

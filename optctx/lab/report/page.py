"""The report of a study: one HTML file that asks no network for anything."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import importlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optctx.errors import OptctxError, shown
from optctx.lab.report.commands import Source, quoted, reproduction
from optctx.lab.report.figures import SHOWN, figures_of, labels_of, most_drawn, times_interval
from optctx.lab.report.importance import MEANING, MOST, SURE, importances
from optctx.lab.report.texts import axis_title, change_text, figure_text, seconds_text, visible
from optctx.lab.trials import STATES, Goal, Trial
from optctx.lab.tuning.objectives import interval_of
from optctx.lab.tuning.results import Study
from optctx.outputs import hindrance, write_whole
from optctx.wording import counted

if TYPE_CHECKING:
    from jinja2 import Environment

# Nothing from any network, no script but those whose digests stand here, and no text that is made into one.
_POLICY = "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {scripts}"
_AGAIN = 5  # trials of a front with the lines that compile them
_WINNERS = 50  # of a front
_REASONS = 50  # different errors
_NAMED = 12  # trials of each


def check_report(path: str | os.PathLike[str]) -> None:
    """Judge the file of a report before a search. Changes nothing.

    Raises OptctxError for a name that does not end with .html, for a file that cannot be written, and where
    plotly, Jinja2 or Optuna is missing.
    """
    name = os.fspath(path)
    if os.path.splitext(name)[1].lower() != ".html":
        raise OptctxError(f"cannot write a report to {shown(name)}: expected a name that ends with .html")
    if problem := hindrance(name):
        raise OptctxError(f"cannot write a report to {shown(name)}: {problem}")
    for module, called in (("plotly.offline", "plotly"), ("optuna", "Optuna"), ("jinja2", "Jinja2")):
        try:
            importlib.import_module(module)
        except ImportError:
            raise OptctxError(f"cannot write a report without {called}: pip install 'optctx[tune]'") from None


def write_report(study: Study, path: str | os.PathLike[str], *, source: Source, title: str = "") -> None:
    """Write the report of a study: one HTML file that needs no network.

    `source`: what was compiled, for the commands that compile it again. `title`: the heading, by default with
    the name of the file. Texts of the study, the source and the title are shown as they are, and do nothing.
    The same study gives the same file.

    The file is replaced as a whole. Raises OptctxError as `check_report` does, and for a file that cannot be
    written.
    """
    check_report(path)
    write_whole(path, as_page(study, source, title or f"Tuning {source.file}"))


def as_page(study: Study, source: Source, title: str) -> str:
    """The whole page. The same study gives the same page."""
    from markupsafe import Markup

    shares = importances(study)
    figures = figures_of(study, shares)
    done, winners = sum(trial.state == "ok" for trial in study.trials), _winners(study)
    plotly, script = _plotly(), _lines(_beside("page.js"))
    data = {
        "figures": {f"{name}-{n}": each for name, own in figures.items() for n, (_, each) in enumerate(own)},
        "labels": labels_of(study),
    }
    return (
        _environment()
        .get_template("page.html")
        .render(
            policy=_POLICY.format(scripts=" ".join(f"'sha256-{_digest(each)}'" for each in (plotly, script))),
            title=title,
            # Markup of this page alone: no text of a study is in them.
            style=Markup(_beside("page.css")),
            script=Markup(script),
            plotly=Markup(_packed(plotly)),
            data=Markup(_packed(json.dumps(data, allow_nan=False, separators=(",", ":")))),
            study=study,
            several=len(study.goals) > 1,
            verdict=_verdict(study),
            counts=_counts(study),
            winners=winners[:_WINNERS],
            more_winners=max(0, len(winners) - _WINNERS),
            winning={trial.number for trial in winners},
            again=[(trial, reproduction(study.winner or trial, source)) for trial in winners[:_AGAIN]],
            figures={name: [words for words, _ in own] for name, own in figures.items()},
            names=list(dict.fromkeys(name for trial in study.trials for name in trial.options)),
            shown_options=SHOWN,
            drawn=most_drawn(len(figures.get("slices", ()))),
            done=done,
            unknown_importance=_unknown(done) if not any(shares.values()) else "",
            importance_note=f"{MEANING}{_doubt(done, SURE, MOST)}",
            lost=_lost(study),
            facts={
                "Machine and versions": {**study.machine, **study.versions},
                "The search": _search(study, source),
            },
        )
    )


def _environment() -> Environment:
    """Every text of a template is escaped, and shown with escapes for what cannot be seen."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("optctx.lab.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) or callable(value) else visible(value),
    )
    made.filters |= {"axis": axis_title, "command": _command, "whole": _whole}
    made.globals |= {"figure": _figure, "change": _change}
    return made


def _whole(text: str) -> Any:
    """A line to copy, of any length."""
    from markupsafe import escape

    return escape(visible(text, len(text)))


@functools.cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return _lines(get_plotlyjs())


@functools.lru_cache(maxsize=2)
def _packed(text: str) -> str:
    """Compressed, for a browser to unpack: plotly.js takes 2 of its 4.8 MB."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _lines(script: str) -> str:
    """A script as browsers read it: its digest is about this text."""
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _winners(study: Study) -> list[Trial]:
    """The best trial, or those of the front."""
    if len(study.goals) > 1:
        return list(study.front)
    return [] if study.best is None else [study.best]


# Cells of tables


def _figure(trial: Trial, goal: Goal) -> str:
    """A figure, its interval, and the time of a call."""
    if goal.name not in trial.objectives:
        return ""
    ends, seconds = times_interval(trial, goal), interval_of(trial, "seconds") if goal.confirmed else None
    interval = "" if ends is None else f" ({figure_text(ends[0], goal)} to {figure_text(ends[1], goal)})"
    call = "" if seconds is None else f", {seconds_text(seconds.middle)} a call"
    return f"{figure_text(trial.objectives[goal.name], goal)}{interval}{call}"


def _change(study: Study, trial: Trial, goal: Goal) -> str:
    figures = [each.objectives.get(goal.name) for each in (trial, study.base)]
    if trial is study.base or None in figures:
        return ""
    return change_text(figures[0], figures[1])  # type: ignore[arg-type]


def _command(trial: Trial) -> str:
    """The command that shows a wrong result again."""
    case = trial.attributes.get("reproduce")
    return f"optctx time --again {quoted(case)}" if isinstance(case, str) and case else ""


def _lost(study: Study) -> list[tuple[str, str, int, list[int], int]]:
    """State and error of the trials without figures, the most frequent first: how many, which, and how many
    more."""
    reasons: dict[tuple[str, str], list[int]] = {}
    for trial in study.trials:
        if trial.state != "ok":
            reasons.setdefault((trial.state, trial.error), []).append(trial.number)
    ordered = sorted(reasons.items(), key=lambda item: -len(item[1]))[:_REASONS]
    return [(*why, len(n), n[:_NAMED], max(0, len(n) - _NAMED)) for why, n in ordered]


# Sentences


def _counts(study: Study) -> str:
    ended = Counter(trial.state for trial in study.trials)
    states = [f"{ended[state]:,} {state}" for state in STATES if ended[state]]
    why = f" The search ended: {study.ended}." if study.finished else ""
    return f"{counted(len(study.trials), 'trial')}{': ' if states else ''}{', '.join(states)}.{why}"


def _unknown(done: int) -> str:
    if done < 2:
        return "fewer than two trials have figures"
    return "no option tells the best trials from the others beyond chance"


def _doubt(done: int, sure: int, most: int) -> str:
    few = f" With {counted(done, 'trial')} (below {sure}) it is a guess." if done < sure else ""
    return f"{few} It is of {most:,} trials drawn at random." if done > most else few


def _verdict(study: Study) -> tuple[str, str]:
    """What came out, and what makes it doubtful or sure."""
    goals, so_far = study.goals, "" if study.finished else " so far"
    best = study.best_so_far if so_far else study.best
    if not any(trial.state == "ok" for trial in study.trials):
        return ("No trial has figures." if study.trials else "There are no trials."), ""
    if len(goals) > 1:
        names = ", ".join(goal.name for goal in goals)
        words = f"{counted(len(study.front), 'trial')} on the Pareto front of {names}{so_far}."
    elif best is None and goals[0].confirmed and not so_far:
        words = "No gain in run time was found and confirmed."
    elif best is None:
        words = f"No trial{so_far} is better than the base by {goals[0].name}."
    else:
        words = f"{_best(study, best)}."
    return words, _confirmation(study)


def _best(study: Study, best: Trial) -> str:
    (goal,) = study.goals
    figure, unit = best.objectives[goal.name], "" if goal.unit == "seconds" else f" {goal.unit}"
    so_far = "" if study.finished else " so far"
    words = f"Best{so_far} by {goal.name}: trial {best.number}, {figure_text(figure, goal)}{unit}"
    if goal.confirmed and study.best is None:
        return f"{words}, not confirmed"
    if study.base.state != "ok" or goal.confirmed:  # a multiple of the base's
        return words
    base = study.base.objectives[goal.name]
    change = change_text(figure, base)
    return f"{words} (base {figure_text(base, goal)}{f', {change}' if change else ''})"


def _confirmation(study: Study) -> str:
    """What a second check said about a run time: noise can make a best trial as well."""
    goals, said = study.goals, study.confirmation
    timed = [goal for goal in goals if goal.confirmed]
    words = []
    if said is not None:
        words.append(f"Second check of trial {said.get('trial')}: {said.get('text')}.")
    elif timed and len(goals) > 1:
        words.append("No second check has confirmed the run times.")
    noises = [noise for trial in study.trials if (noise := interval_of(trial, "noise")) is not None]
    if timed and noises:
        widest = max(noises, key=lambda noise: noise.high - noise.low)
        low, high = (f"{100 * (end - 1):+.2f} %" for end in (widest.low, widest.high))
        words.append(f"Noise of this machine: the base differed from itself by {low} to {high}.")
    return " ".join(words)


def _search(study: Study, source: Source) -> Mapping[str, Any]:
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
        **({"second check": json.dumps(study.confirmation)} if study.confirmation is not None else {}),
    }

"""A report as a table for people, and as JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

from optctx.lab.sensitivity.report import Effect, Report, Trial
from optctx.tables import Table, table
from optctx.values.read_values import value_text

__all__ = ["as_csv", "as_json", "as_table", "dead_table", "not_tried_lines", "percent"]

_FUNCTIONS = 8  # of an option, in JSON
_LONGEST = 120  # characters of a function's name, in JSON
_COLUMNS = ("option", "type", "base", "trial", "IR instructions", "object bytes", "verdict")
_CSV = (
    "option",
    "type",
    "base",
    "value",
    "verdict",
    "instructions",
    "instructions_change",
    "object_size",
    "size_change",
    "reason",
)


def as_table(report: Report, top: int | None = None) -> Table:
    """A rich table of the options that change the output, the largest effect first; at most `top` of them."""
    rows = [
        (
            effect.option,
            effect.type,
            value_text(effect.base),
            value_text(effect.best.value),
            percent(effect.best.instructions_change),
            percent(effect.best.size_change),
            _what_changes(effect.best),
        )
        for effect in report.changing[:top]
    ]
    return table(_COLUMNS, rows, whole=_COLUMNS, right=("IR instructions", "object bytes"))


def dead_table(report: Report) -> Table:
    """A rich table of trials that crashed, timed out or failed. Values that ended alike share a row."""
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for effect, trial in report.dead:
        row = (effect.option, value_text(effect.base), trial.verdict, trial.reason)
        rows.setdefault(row, []).append(value_text(trial.value))
    cells = [(*first, ", ".join(values), reason) for (*first, reason), values in rows.items()]
    whole = ("option", "base", "verdict")
    return table((*whole, "trials", "reason"), cells, whole=whole)


def not_tried_lines(report: Report) -> list[str]:
    """One line for each reason, with the options, and one for each value that LLVM's parsers refused."""
    by_reason: dict[str, list[str]] = {}
    for each in report.not_tried:
        by_reason.setdefault(each.reason, []).append(each.option)
    lines = [f"not tried, {reason}: {', '.join(names)}" for reason, names in by_reason.items()]
    return [*lines, *(f"not tried: {words}" for _, _, words in report.refused)]


def as_json(report: Report) -> str:
    """One object: the base, the counts, every option that was tried with its trials, and what was not tried.

    Changes are relative: 0.5 is 50 % more. A value of null means that the option was left out. Where
    `finished` is false an interrupt came, and `left` trials did not end.
    """
    return json.dumps(
        {
            "by": report.by,
            "base": {"instructions": report.instructions, "object_size": report.object_size},
            "counts": {
                "read": report.read,
                "tried": len(report.effects),
                "changing": len(report.changing),
                "not_tried": len(report.not_tried),
                "trials": report.trials,
                "left": report.left or 0,
            },
            "finished": report.left is None,
            "options": [_effect(effect) for effect in report.effects],
            "not_tried": [
                {"option": each.option, "type": each.type, "reason": each.reason} for each in report.not_tried
            ],
            "refused": [
                {"option": option, "value": value, "reason": words} for option, value, words in report.refused
            ],
        },
        indent=2,
    )


def as_csv(report: Report) -> str:
    """A header, and a line for every option that was tried, with its largest effect. Changes are relative."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_CSV)
    for effect in report.effects:
        trial = effect.best
        fields = _trial(trial)
        fields.update(
            option=effect.option,
            type=effect.type,
            base=value_text(effect.base),
            value=value_text(trial.value),
            instructions_change=f"{trial.instructions_change:.6f}",
            size_change=f"{trial.size_change:.6f}",
        )
        writer.writerow([fields[name] for name in _CSV])
    return out.getvalue()


def percent(change: float) -> str:
    """A relative change for people."""
    return f"{change:+.1%}" if change else "0"


def _what_changes(trial: Trial) -> str:
    parts = [word for word, does in (("IR", trial.ir_changes), ("object", trial.object_changes)) if does]
    return f"changes {' and '.join(parts)}"


def _effect(effect: Effect) -> dict[str, Any]:
    best = effect.best
    return {
        "option": effect.option,
        "type": effect.type,
        "base": effect.base,
        **_trial(best),
        "functions": [_short(name) for name in effect.functions[:_FUNCTIONS]],
        "functions_in_all": len(effect.functions),
        "trials": _trials(effect.trials),
    }


def _trials(trials: Iterable[Trial]) -> list[dict[str, Any]]:
    return [_trial(trial) for trial in trials]


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "value": trial.value,
        "verdict": trial.verdict,
        "instructions": trial.instructions,
        "object_size": trial.object_size,
        "instructions_change": trial.instructions_change,
        "size_change": trial.size_change,
        "ir_changes": trial.ir_changes,
        "object_changes": trial.object_changes,
        "reason": trial.reason,
    }


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}..."

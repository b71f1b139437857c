"""A ranking as tables for people, and as data and rows for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from optctx.lab.rank.ranking import Effect, Ranking
from optctx.lab.tables import Table
from optctx.lab.trials.tables import percent, record
from optctx.wording import counted

_FUNCTIONS = 5  # of those that read an option, in JSON
_LONGEST = 200  # characters of a demangled name, which can have thousands
_HEADINGS = ("option", "type", "base", "value", "IR instructions", "object bytes", "values")
_CSV = ("option", "type", "base", "value", "state", "instructions", "instructions_change", "size")
_MORE = ("size_change", "changes", "error")


def as_table(ranking: Ranking, top: int | None = None) -> Table:
    """A table of the options that change the output, the largest effect first; at most `top` of them."""
    rows = [
        (
            effect.option,
            effect.type,
            effect.base,
            effect.value,
            percent(ranking.change(effect.best, "instructions")),
            percent(ranking.change(effect.best, "size")),
            str(len(effect.trials)),
        )
        for effect in ranking.changing[:top]
    ]
    return Table(_HEADINGS, rows, whole=_HEADINGS, right=_HEADINGS[4:])


def dead_table(ranking: Ranking) -> Table:
    """A table of trials that crashed, timed out or failed. Values that ended alike share a row."""
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for effect, trial in ranking.dead:
        row = (effect.option, effect.base, trial.state, trial.error)
        rows.setdefault(row, []).append(trial.options[effect.option])
    cells = [(*first, ", ".join(values), reason) for (*first, reason), values in rows.items()]
    whole = ("option", "base", "state")
    return Table((*whole, "values", "error"), cells, whole=whole)


def not_tried_lines(ranking: Ranking) -> list[str]:
    """One line for each reason, with the options, and one for each value that LLVM's parsers refused."""
    by_reason: dict[str, list[str]] = {}
    for each in ranking.not_tried:
        by_reason.setdefault(each.reason, []).append(each.option)
    lines = [f"not tried, {reason}: {', '.join(names)}" for reason, names in by_reason.items()]
    differing = [trial for trial in ranking.trials if trial.difference]
    compared = sum(trial.agrees is not None for trial in ranking.trials)
    if compared or differing:
        wrong = sum(trial.agrees is False for trial in differing)
        lines.append(f"{counted(compared, 'value')} compared with fresh processes, {wrong} differ")
    return [*lines, *(f"not tried: {words}" for words in ranking.refused)]


def as_data(ranking: Ranking) -> dict[str, Any]:
    """One object: the base, the counts, every option that was tried with its trials, and what was not tried.

    Changes are relative: 0.5 is 50 % more. `ended` is None if every value was tried, and otherwise says why
    not; nothing is known of `left` values then. A trial with a "group" among its attributes was found to
    change nothing together with the others of a group of this size.
    """
    return {
        "by": ranking.goal.name,
        "base": record(ranking.base),
        "counts": {
            "read": ranking.read,
            "tried": len(ranking.effects),
            "changing": len(ranking.changing),
            "not_tried": len(ranking.not_tried),
            "values": len(ranking.trials),
            "compilations": ranking.compiled,
            "left": ranking.left,
        },
        "ended": ranking.ended or None,
        "options": [_effect(effect, ranking) for effect in ranking.effects],
        "not_tried": ranking.not_tried,
        "refused": ranking.refused,
    }


def as_rows(ranking: Ranking) -> Iterator[Sequence[object]]:
    """Headings, and a row for every option that was tried, with its largest effect. Changes are relative."""
    yield *_CSV, *_MORE
    for effect in ranking.effects:
        best = effect.best
        figures: Sequence[Any] = ("", "", "", "")
        if best.state == "ok":
            changes = (f"{ranking.change(best, name):.6f}" for name in ("instructions", "size"))
            sizes = (best.attributes[name] for name in ("instructions", "size"))
            figures = [each for pair in zip(sizes, changes, strict=True) for each in pair]
        head = (effect.option, effect.type, effect.base, effect.value, best.state)
        yield *head, *figures, str(effect.changes).lower(), best.error


def _effect(effect: Effect, ranking: Ranking) -> dict[str, Any]:
    best = effect.best
    return {
        "option": effect.option,
        "type": effect.type,
        "base": effect.base,
        "changes": effect.changes,
        "value": effect.value,
        "instructions_change": ranking.change(best, "instructions"),
        "size_change": ranking.change(best, "size"),
        "functions": [_short(name) for name in effect.functions[:_FUNCTIONS]],
        "functions_in_all": len(effect.functions),
        "trials": [record(trial) for trial in effect.trials],
    }


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}..."

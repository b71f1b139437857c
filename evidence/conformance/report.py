"""The verdicts as a text table and as JSON."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from evidence.conformance.verdict import VERDICTS, Verdict, option_names

_SHOWN = 60  # jobs listed by name


def as_json(verdicts: Sequence[Verdict], left_out: Counter[str]) -> dict[str, Any]:
    """Everything that can be told, as plain data; agreeing jobs only as numbers."""
    return {
        "totals": _totals(verdicts),
        "left_out": dict(left_out.most_common()),
        "not_applicable": dict(_not_applicable(verdicts)),
        "refusals": dict(_refusals(verdicts)),
        "options": _by_option(verdicts),
        "jobs": [asdict(v) for v in verdicts if v.verdict in ("differing", "unstable", "crashed")],
    }


def as_text(verdicts: Sequence[Verdict], left_out: Counter[str]) -> str:
    """Totals, options where not every job agrees, reasons, and the jobs themselves."""
    lines = ["Totals", *_columns(_totals(verdicts).items())]
    lines += ["", "Commands left out", *_columns(left_out.most_common())]
    lines += ["", "Not applicable", *_columns(_not_applicable(verdicts).most_common())]
    lines += ["", "Refused", *_columns(_refusals(verdicts).most_common())]
    lines += ["", *_option_table(verdicts)]
    for kind in ("crashed", "differing", "unstable"):
        chosen = [verdict for verdict in verdicts if verdict.verdict == kind]
        if chosen:
            lines += ["", f"{kind.capitalize()}: {len(chosen)}"]
            lines += [_line(verdict) for verdict in chosen[:_SHOWN]]
    return "\n".join(lines) + "\n"


def _totals(verdicts: Sequence[Verdict]) -> dict[str, int]:
    count = Counter(verdict.verdict for verdict in verdicts)
    judged = [verdict for verdict in verdicts if verdict.verdict != "not applicable"]
    totals = {"commands": len(verdicts), "judged": len(judged)}
    totals |= {name: count[name] for name in VERDICTS}
    totals["sensitive"] = sum(verdict.sensitive for verdict in judged)
    totals["sensitive and agreed"] = sum(v.sensitive for v in judged if v.verdict == "agreed")
    totals["options used"] = len({name for verdict in judged for name in option_names(verdict.job)})
    return totals


def _not_applicable(verdicts: Sequence[Verdict]) -> Counter[str]:
    reasons: Counter[str] = Counter()
    for verdict in verdicts:
        if verdict.verdict == "not applicable":
            reasons[f"{verdict.detail}: {verdict.reference.text[:60]}"] += 1
    return reasons


def _refusals(verdicts: Sequence[Verdict]) -> Counter[str]:
    return Counter(verdict.detail for verdict in verdicts if verdict.verdict == "refused")


def _by_option(verdicts: Sequence[Verdict]) -> dict[str, dict[str, int]]:
    """A job with several options counts for each; for a refusal, only the option that is refused."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for verdict in verdicts:
        if verdict.verdict == "not applicable":
            continue
        names = option_names(verdict.job)
        if verdict.verdict == "refused":
            names = [verdict.detail.split(":", 1)[0]]
        for name in names:
            table[name][verdict.verdict] += 1
            table[name]["sensitive"] += verdict.sensitive
    return {name: dict(table[name]) for name in sorted(table)}


def _option_table(verdicts: Sequence[Verdict]) -> list[str]:
    kinds = ("agreed", "sensitive", "refused", "differing", "unstable", "crashed")
    table = _by_option(verdicts)
    rows = [(name, row) for name, row in table.items() if row.get("agreed", 0) != _jobs(row)]
    width = max([len(name) for name, _ in rows], default=6)
    lines = ["Options where not every job agrees"]
    lines.append(f"{'option':{width}} " + " ".join(f"{kind:>9}" for kind in kinds))
    for name, row in sorted(rows, key=lambda item: (item[1].get("agreed", 0) - _jobs(item[1]), item[0])):
        lines.append(f"{name:{width}} " + " ".join(f"{row.get(kind, 0) or '':>9}" for kind in kinds))
    return [*lines, f"{len(table) - len(rows)} other options: every job agrees"]


def _jobs(row: dict[str, int]) -> int:
    return sum(number for kind, number in row.items() if kind != "sensitive")


def _columns(rows: Iterable[tuple[str, int]]) -> list[str]:
    return [f"{number:8}  {name}" for name, number in rows if number]


def _line(verdict: Verdict) -> str:
    job = verdict.job
    passes = f" -passes='{job.passes}'" if job.passes else ""
    runs = f" [{len(set(verdict.evidence.values()))} outputs in stock LLVM]" if verdict.evidence else ""
    return f"  {job.where} {job.tool}{passes} {' '.join(job.options)}: {verdict.detail}{runs}"

"""What was found, as a table and as a list of the tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from evidence.conformance.designs.design import Design, Fault
from evidence.conformance.designs.running import ENDS, Judged

_SHOWN = 12  # options in a table
_CLASSES = ("no option at fault", "no context", "no field", "process-wide")


def totals(judged: Sequence[Judged]) -> dict[str, int]:
    """Jobs by the worst fault of their options, and by how they ended. Tests are files."""
    worst = Counter(_worst(each) for each in judged)
    ends = Counter(each.end for each in judged)
    alone = [each for each in judged if _alone(each)]
    return {
        "jobs": len(judged),
        **{f"options: {name}": worst[name] for name in _CLASSES},
        **{f"run: {name}": ends[name] for name in ENDS},
        "jobs that need a process of their own": len(alone),
        "tests that do": len({_test(each) for each in alone}),
        "tests": len({_test(each) for each in judged}),
        "options that these jobs set and that are at fault": len(
            {fault.option for each in judged for fault in each.faults}
        ),
    }


def as_text(found: Mapping[str, Sequence[Judged]], designs: Mapping[str, Design]) -> str:
    """A table of the totals, and for each design the options that most tests depend on."""
    tables = {name: totals(judged) for name, judged in found.items()}
    rows = list(next(iter(tables.values())))
    width = max(map(len, rows))
    lines = [f"{'':{width}} " + " ".join(f"{name:>16}" for name in tables)]
    lines += [f"{row:{width}} " + " ".join(f"{table[row]:>16,}" for table in tables.values()) for row in rows]
    for name, judged in found.items():
        lines += ["", f"{name}: {designs[name].about}", *_options(judged)]
    return "\n".join(lines)


def as_list(found: Mapping[str, Sequence[Judged]]) -> str:
    """A line with tabs for each job with a fault, or that did not end the same, under each design."""
    rows = ["design\ttest\ttool\toptions\tworst fault\toptions at fault\trun"]
    for name, judged in found.items():
        for each in judged:
            if each.shared and each.end in ("same", "not run"):
                continue
            job, at_fault = each.job, " ".join(fault.option for fault in each.faults)
            words = " ".join(job.options)
            rows.append("\t".join((name, job.where, job.tool, words, _worst(each), at_fault, each.end)))
    return "\n".join(rows) + "\n"


def faults_as_list(at_fault: Mapping[str, Mapping[str, Fault]]) -> str:
    """A line with tabs for each option at fault under each design, whether a test sets it or not."""
    rows = ["design\toption\tfault\tdetail"]
    for name, faults in at_fault.items():
        rows += ["\t".join((name, *fault)) for fault in sorted(set(faults.values()))]
    return "\n".join(rows) + "\n"


def _options(judged: Sequence[Judged]) -> list[str]:
    """The options whose jobs most often need a process of their own: in all, and as the only one at fault."""
    count: Counter[Fault] = Counter()
    only: Counter[Fault] = Counter()
    for each in judged:
        if _alone(each):
            count.update(each.faults)
            only.update(each.faults if len(each.faults) == 1 else ())
    order = sorted(count, key=lambda fault: (-only[fault], -count[fault], fault))
    lines = [f"{count[fault]:8,} {only[fault]:8,}  {fault.option} ({fault.kind})" for fault in order[:_SHOWN]]
    more = [f"{'':17}  {len(count) - _SHOWN} more"] if len(count) > _SHOWN else []
    return [f"{'jobs':>8} {'alone':>8}  option at fault", *lines, *more]


def _alone(each: Judged) -> bool:
    """Whether the design cannot run it beside others: it does not take an option, or the output differs."""
    return not each.runs or each.end in ("differs", "crashes", "unexplained")


def _worst(each: Judged) -> str:
    kinds = {fault.kind for fault in each.faults}
    return next((name for name in reversed(_CLASSES) if name in kinds), _CLASSES[0])


def _test(each: Judged) -> str:
    """Its file."""
    return str(Path(each.job.where.rpartition(":")[0] or each.job.where))

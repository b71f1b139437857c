"""Runs jobs under a design in one process, and compares each with a fresh process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from evidence.conformance.cache import ReferenceCache
from evidence.conformance.designs.design import Design, Fault, HasContext
from evidence.conformance.job import Job, Outcome
from evidence.conformance.judging import Settings, run_all
from evidence.conformance.scoped import Mode, run_scoped, shuffled
from evidence.conformance.stability import measure
from evidence.conformance.verdict import option_names
from evidence.strategies.reach import Reach

End = Literal["not run", "same", "differs", "crashes", "unstable", "unexplained"]
ENDS: Final[tuple[End, ...]] = ("same", "differs", "crashes", "unstable", "unexplained", "not run")


@dataclass
class Judged:
    """One job under one design. `faults`: of the options that it sets.

    `end`: not run (an option is process-wide or has no field; a fresh process dies as well; or nothing was
    run), or what its output is against a fresh process. "unstable" and "unexplained" have no fault that could
    be the reason: stock LLVM gives other output as well, or it does not.
    """

    job: Job
    faults: list[Fault]
    end: End = "not run"

    @property
    def shared(self) -> bool:
        """Whether no option of it is at fault."""
        return not self.faults

    @property
    def runs(self) -> bool:
        """Whether the design takes all its options."""
        return all(fault.kind == "no context" for fault in self.faults)


def classify(jobs: Sequence[Job], faults: Mapping[str, Fault]) -> list[Judged]:
    """By the options alone."""
    return [
        Judged(job, sorted({faults[name] for name in option_names(job) if name in faults})) for job in jobs
    ]


def run_design(
    design: Design, has_one: HasContext, judged: Sequence[Judged], cache: ReferenceCache, how: Settings
) -> None:
    """Run what the design takes, on threads of one process, in random order. The cache has the references."""
    jobs = [each.job for each in judged]
    expected = [cache.get(job) for job in jobs]
    # Some jobs end their process under any design. They would take the others with them.
    well = [i for i, known in enumerate(expected) if known is not None and known.kind not in ("died", "late")]
    order = [well[i] for i in shuffled(len(well), how.seed) if judged[well[i]].runs]
    Mode.reach = None if design.contexts is None else Reach(has_one)
    try:
        limit = 3 * how.timeout
        run = run_all(jobs, order, limit)
        # Of the jobs that were under way in a crash, those did it that crash with no other beside them.
        suspects = [index for crash in run.crashes for index in crash.running]
        alone = run_scoped(jobs, suspects, threads=1, timeout=limit)
        found = {**run.outcomes, **alone.outcomes}
        for index in order:
            judged[index].end = _end(judged[index], expected[index], found.get(index))
    finally:
        Mode.reach = None
    _find_unstable(judged, order, well, cache, how)


def _find_unstable(
    judged: Sequence[Judged], order: Sequence[int], well: Sequence[int], cache: ReferenceCache, how: Settings
) -> None:
    """Of the jobs that nothing explains, those of which stock LLVM gives other output as well."""
    jobs = [each.job for each in judged]
    odd = [i for i in order if judged[i].end == "unexplained"]
    if not odd:
        return
    safe = [i for i in well if (known := cache.get(jobs[i])) is not None and known.kind == "output"]
    found = measure(jobs, odd, safe, how.timeout, how.seed, order=order)
    for index, stability in found.items():
        if not stability.stable:
            judged[index].end = "unstable"


def _end(each: Judged, expected: Outcome | None, outcome: Outcome | None) -> End:
    if outcome == expected:
        return "same"
    if each.shared:
        return "unexplained"
    return "crashes" if outcome is None else "differs"

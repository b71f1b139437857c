"""Jobs under the audit: accesses to LLVM's own option storage that were not redirected, with their jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from evidence.conformance.job import Job, Outcome, compile_job
from evidence.conformance.library import judged_image
from evidence.conformance.verdict import Verdict
from optctx import OptionContext
from optctx.engine.attach import attach
from optctx.wording import first_few
from tests.support.audit import Access, audit


class Sighting(NamedTuple):
    """One instruction that touched one option's own storage; addresses are those in the library's file."""

    access: Access
    jobs: list[str]


def compile_audited(job: Job, context: OptionContext) -> Outcome:
    """The job inside the context, from before it is entered until after it is left."""
    with audit(judged_image()) as seen, context:
        outcome = compile_job(job)
    base = attach(judged_image()).image.base
    accesses = [
        replace(access, instruction=access.instruction - base, address=access.address - base)
        for access in seen.accesses
    ]
    return replace(outcome, accesses=tuple(accesses), neighbours=seen.neighbours)


def find_sightings(verdicts: Iterable[Verdict]) -> list[Sighting]:
    """What all the jobs saw, those with most jobs first."""
    found: dict[tuple[int, str, bool], Sighting] = {}
    for verdict in verdicts:
        for access in verdict.scoped.accesses if verdict.scoped is not None else ():
            key = (access.instruction, access.option, access.write)
            first, jobs = found.get(key, (replace(access, count=0), []))
            found[key] = Sighting(
                replace(first, count=first.count + access.count), [*jobs, verdict.job.where]
            )
    return sorted(found.values(), key=lambda each: (-len(each.jobs), each.access.instruction))


def sightings_as_text(verdicts: Sequence[Verdict]) -> list[str]:
    """Lines for the report."""
    sightings = find_sightings(verdicts)
    lines = [f"Accesses that were not redirected: {len(sightings)}", *(_line(s) for s in sightings)]
    outcomes = [verdict.scoped for verdict in verdicts if verdict.scoped is not None]
    audited = [outcome.neighbours for outcome in outcomes if outcome.neighbours is not None]
    return [
        *lines,
        f"{len(audited)} jobs audited, {sum(audited)} accesses to neighbours of options let through",
    ]


def _line(sighting: Sighting) -> str:
    seen, jobs = sighting
    return (
        f"  {seen.function or 'code outside every function'} at {seen.instruction:#x} "
        f"{'writes' if seen.write else 'reads'} {seen.option} at {seen.address:#x}: "
        f"{seen.count} times in {len(jobs)} jobs ({first_few(jobs)})"
    )

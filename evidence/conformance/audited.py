"""Jobs under the audit: accesses to LLVM's own option storage that were not redirected, with their jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from evidence.conformance.job import Job, Outcome, compile_job
from evidence.conformance.library import judged_image
from evidence.conformance.verdict import Verdict
from optctx import OptionContext
from optctx.engine.attach import attach
from tests.support.audit import audit

_SHOWN = 5  # jobs listed for one access


@dataclass
class Sighting:
    """One instruction that touched one option's own storage; addresses are those in the library's file."""

    function: str
    option: str
    instruction: int
    address: int
    write: bool
    count: int = 0
    jobs: list[str] = field(default_factory=list)


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
            sighting = found.setdefault(
                key,
                Sighting(
                    access.function,
                    access.option,
                    access.instruction,
                    access.address,
                    access.write,
                ),
            )
            sighting.count += access.count
            sighting.jobs.append(verdict.job.where)
    return sorted(found.values(), key=lambda sighting: (-len(sighting.jobs), sighting.instruction))


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
    jobs = ", ".join(sighting.jobs[:_SHOWN]) + (", ..." if len(sighting.jobs) > _SHOWN else "")
    return (
        f"  {sighting.function or 'code outside every function'} at {sighting.instruction:#x} "
        f"{'writes' if sighting.write else 'reads'} {sighting.option} at {sighting.address:#x}: "
        f"{sighting.count} times in {len(sighting.jobs)} jobs ({jobs})"
    )

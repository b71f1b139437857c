"""Jobs inside `record()`: options that change the output although nothing that reads them was recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from evidence.conformance.cache import ReferenceCache
from evidence.conformance.job import Job, Outcome, compile_job
from evidence.conformance.verdict import Verdict, option_names
from optctx import OptionContext, record
from optctx.engine.attach import attach
from optctx.wording import first_few


class Missing(NamedTuple):
    """An option of a job that changes its output and was not recorded as read."""

    option: str
    where: str


@dataclass(frozen=True)
class Recorded:
    """`pairs`: (job, option) whose removal alone changes the output; `process`: of these, those with an
    option that only the whole process can set, whose reads are not seen."""

    jobs: int
    pairs: int
    process: int
    options: int
    missing: list[Missing]


def compile_recorded(job: Job, context: OptionContext) -> Outcome:
    """The job inside the context, recorded from before that is entered until after it is left."""
    with record() as log, context:
        outcome = compile_job(job)
    engine = attach()
    read = log.reads
    options = {name: engine.resolve(engine.options[name]) for name in option_names(job)}
    unread = {name for name, option in options.items() if option.name not in read}
    process = {name for name in unread if options[name].scope == "process"}
    return replace(outcome, unread=tuple(sorted(unread - process)), process=tuple(sorted(process)))


def removals(job: Job) -> Iterator[tuple[str, Job]]:
    """(option, the job without it) for each of its options."""
    for name in option_names(job):
        kept = (word for word in job.options if word.lstrip("-").split("=", 1)[0] != name)
        yield name, replace(job, options=tuple(kept))


def find_recorded(verdicts: Iterable[Verdict], cache: ReferenceCache) -> Recorded:
    """Judges the jobs that agreed and are sensitive. The cache has the outcomes of their removals."""
    jobs = pairs = process = 0
    options: set[str] = set()
    missing = []
    for verdict in verdicts:
        scoped = verdict.scoped
        if verdict.verdict != "agreed" or scoped is None or scoped.unread is None:
            continue
        jobs += 1
        for name in _sensitive(verdict, cache):
            pairs += 1
            options.add(name)
            process += name in scoped.process
            if name in scoped.unread:
                missing.append(Missing(name, verdict.job.where))
    return Recorded(jobs, pairs, process, len(options), missing)


def _sensitive(verdict: Verdict, cache: ReferenceCache) -> Iterator[str]:
    """Options whose removal alone changes what a fresh process gives."""
    for name, without in removals(verdict.job):
        outcome = cache.get(without)
        if outcome is not None and outcome.kind not in ("died", "late") and outcome != verdict.reference:
            yield name


def recorded_as_text(found: Recorded) -> list[str]:
    """Lines for the report."""
    lines = [
        f"Recorded: {found.jobs} jobs; {found.pairs} pairs of a job and one of its options that changes the "
        f"output, {found.options} options",
        f"{found.pairs - found.process - len(found.missing)} recorded as read, {found.process} of options "
        f"that are set for the whole process, {len(found.missing)} not recorded",
    ]
    for name, number in Counter(missing.option for missing in found.missing).most_common():
        jobs = [missing.where for missing in found.missing if missing.option == name]
        lines.append(f"{number:8}  {name} ({first_few(jobs)})")
    return lines


def sensitive_jobs(verdicts: Sequence[Verdict]) -> list[Job]:
    """Those whose options are to be removed one at a time."""
    return [verdict.job for verdict in verdicts if verdict.verdict == "agreed" and verdict.sensitive]

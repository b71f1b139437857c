"""The command: python -m tests.long.probe."""

from __future__ import annotations

import multiprocessing
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from evidence.conformance.job import Job, compile_job, initialise, source
from optctx import OptctxError, OptionContext, registry
from tests.long.fuzz.confined import Limits, Outcome, outcomes
from tests.long.probe.jobs import hostile_values, jobs, may_be_set, read_by_jobs, unlike

_READERS = 6  # compilations with each value
Finding: TypeAlias = tuple[Job, Outcome]  # what a job did beside compiling


def main() -> int:
    """Every option with hostile values, wherever it is read; status 1 if one that modules may set misbehaves.

    One line for each thing that an option does beside compiling.
    """
    initialise()
    wrong = 0
    for job, outcome in _found():
        accepted = may_be_set(job)
        wrong += accepted
        where = f"{job.path.rpartition('/')[2]} {job.passes} {job.triple}"
        judged = "modules may set " if accepted else ""
        said = " ".join(outcome.printed.split())[:200]
        print(f"{judged}{' '.join(job.options)} in {where}: {outcome.how} {said}", flush=True)
    print(f"{wrong} findings of values that modules may set")
    return int(wrong > 0)


def _found() -> Iterator[Finding]:
    names = [name for name, each in registry().items() if each.scope == "thread" and not each.alias_of]
    candidates = jobs()
    for job in candidates:  # children open no file and import nothing
        source(job.path)
    compile_job(candidates[0])
    dying = {job for job in candidates if _findings([job])}
    readers = read_by_jobs([job for job in candidates if job not in dying])
    print(f"{len(names)} options, {sum(name in readers for name in names)} of them read", flush=True)
    chance = random.Random(0)
    tried = []
    for name in names:
        chosen = unlike(readers.get(name, []), lambda job: job, chance)[:_READERS]
        options = [(f"-{name}={value}",) for value in hostile_values(registry()[name])]
        tried.append([replace(job, options=each) for job in chosen for each in options])
    # Not on threads: what is no main thread has the C library open a file when it gives memory back.
    with multiprocessing.get_context("fork").Pool() as processes:
        for found in processes.imap(_findings, tried):
            yield from found


def _findings(tried: Sequence[Job]) -> list[Finding]:
    """Compile. Return what jobs did beside it. No job follows under options that have ended one."""
    found: list[Finding] = []
    while tried:
        left: list[Job] = []
        for place, (job, outcome) in enumerate(zip(tried, outcomes(tried, _compile, Limits()), strict=False)):
            if outcome.wrong:
                found.append((job, outcome))
            if outcome.fatal:
                left = [each for each in tried[place + 1 :] if each.options != job.options]
                break
        tried = left
    return found


def _compile(job: Job) -> str:
    try:
        context = OptionContext.from_args(job.options, base="defaults")
    except OptctxError:
        return "refused"  # LLVM's parser refuses the value
    with context:
        compile_job(job)
    return "compiled"


if __name__ == "__main__":
    sys.exit(main())

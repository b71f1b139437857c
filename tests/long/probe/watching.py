"""Compilations under their options, one after the other, in a child that dies of what it should not do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from evidence.conformance.job import Job, compile_job
from optctx import OptctxError, OptionContext
from tests.long.fuzz.confined import Limits, Outcome, outcomes

__all__ = ["Finding", "findings"]

Finding: TypeAlias = tuple[Job, Outcome]


def findings(jobs: Sequence[Job]) -> Iterator[Finding]:
    """What jobs did beside compiling: they print, reach outside, die or hang.

    No job follows under options that have ended one.
    """
    left = list(jobs)
    while left:
        tried, left = left, []
        for place, outcome in enumerate(outcomes(tried, _compile, Limits())):
            if outcome.wrong:
                yield tried[place], outcome
            if outcome.fatal:
                left = [job for job in tried[place + 1 :] if job.options != tried[place].options]
                break


def _compile(job: Job) -> str:
    try:
        context = OptionContext.from_args(job.options, base="defaults")
    except OptctxError:
        return "refused"  # LLVM's parser refuses the value
    with context:
        compile_job(job)
    return "compiled"

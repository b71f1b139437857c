"""LLVM's own tests as the judge: commands with options that modules may set do nothing beside compiling."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence

from evidence.conformance.job import Job, source
from evidence.conformance.runlines import read_jobs
from evidence.conformance.source import default_cache, llvm_tests
from optctx import OptctxError, OptionContext, registry
from optctx.trust import judgement_of
from tests.long.probe.watching import Case, Finding, findings

__all__ = ["findings_of_tests", "tuning_jobs"]

_BATCH = 64  # commands for one child


def tuning_jobs(folders: Sequence[str]) -> list[Job]:
    """The commands of folders of llvm/test whose options, with their values, may all come from modules."""
    known = registry()

    def needs_value(name: str) -> bool | None:
        return known[name].type not in ("bool", "boolOrDefault") if name in known else None

    found, _ = read_jobs(llvm_tests(default_cache()), folders, needs_value)
    return [job for job in found if job.options and _accepted(job)]


def findings_of_tests(found: Sequence[Job]) -> Iterator[Finding]:
    """What these commands do beside compiling, where LLVM does not do it without their options."""
    batches = [found[at : at + _BATCH] for at in range(0, len(found), _BATCH)]
    with multiprocessing.get_context("fork").Pool() as processes:
        for seen in processes.imap(_try, batches):
            yield from seen


def _try(found: Sequence[Job]) -> list[Finding]:
    for job in found:
        source(job.path)
    cases = [Case("", str(number), job, own=True) for number, job in enumerate(found)]
    return [finding for finding in findings(cases) if not list(findings([Case("", "", finding.case.job)]))]


def _accepted(job: Job) -> bool:
    try:
        context = OptionContext.from_args(job.options, base="defaults")
    except OptctxError:
        return False
    for name, value in context.overrides.items():
        judged = judgement_of(registry()[name]._target)
        if judged.trust != "tuning" or not judged.holds_for(value):
            return False
    return True

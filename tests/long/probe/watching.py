"""Compilations under an option, one after the other, in a child that dies of whatever it should not do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unittest.mock import patch

import optctx
from evidence.conformance import job as compiling
from evidence.conformance.job import Job, compile_job
from optctx import OptctxError, OptionContext
from tests.long.fuzz.bases import attributed
from tests.long.fuzz.confined import Limits, Outcome, outcomes

__all__ = ["Case", "Finding", "findings"]


@dataclass(frozen=True)
class Case:
    """One compilation, under one option, none (an empty name), or those of the job itself."""

    name: str
    value: str
    job: Job
    own: bool = False  # the job's options
    attribute: bool = False  # the option is an attribute of every function, and not of a scope


@dataclass(frozen=True)
class Finding:
    """What a case did beside compiling: it prints, reaches outside, dies or hangs."""

    case: Case
    outcome: Outcome


def findings(cases: Sequence[Case]) -> Iterator[Finding]:
    """Of cases with one option: what any of them does beside compiling, one death of each value."""
    left = list(cases)
    while left:
        tried, left = left, []
        for place, outcome in enumerate(outcomes(tried, _compile, Limits())):
            if outcome.wrong:
                yield Finding(tried[place], outcome)
            if outcome.fatal:
                left = [case for case in tried[place + 1 :] if case.value != tried[place].value]
                break


def _compile(case: Case) -> str:
    if case.attribute:
        return _compile_attributed(case)
    try:
        if case.own:
            context = OptionContext.from_args(case.job.options, base="defaults")
        else:
            context = OptionContext({case.name: case.value} if case.name else {}, base="defaults")
    except OptctxError:
        return "refused"  # LLVM's parser refuses the value
    with context:
        compile_job(case.job)
    return "compiled"


def _compile_attributed(case: Case) -> str:
    text = attributed(compiling.source(case.job.path), f'"optctx"="-{case.name}={case.value}"')
    optctx.attach(attributes="error", trust=[case.name])
    with patch.object(compiling, "source", lambda _: text):
        compile_job(case.job)
    return "compiled"

"""Pairs of option sets for one input, made by Hypothesis, and what compiling them gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

import optctx
from optctx import OptionContext
from optctx.errors import OptctxError
from tests.conformance.job import Job, Outcome, compile_job, initialise
from tests.conformance.runlines import read_jobs

__all__ = ["Compiled", "Pair", "compile_pair", "pairs"]

_TESTS = Path(__file__).parent.parent
_MOST = 4  # options of one set


@dataclass(frozen=True)
class Pair:
    """One input, and two sets of command-line arguments."""

    job: Job
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True)
class Compiled:
    """What came out, and the fingerprint of what was read; `read`: names."""

    outcome: Outcome
    fingerprint: str
    read: frozenset[str]


@cache
def _sample() -> tuple[tuple[Job, ...], dict[Job, tuple[str, ...]], tuple[str, ...]]:
    """(inputs, arguments that matter to each, all arguments): what tests/sample holds, as far as it is scoped."""
    initialise()
    jobs, _ = read_jobs(_TESTS, ["sample"], lambda name: name in optctx.registry())
    own: dict[Job, list[str]] = {}
    for job in jobs:
        own.setdefault(job.bare(), []).extend(option for option in job.options if _is_scoped(option))
    everything = sorted({option for options in own.values() for option in options})
    return tuple(own), {job: tuple(options) for job, options in own.items()}, tuple(everything)


def _is_scoped(option: str) -> bool:
    try:
        OptionContext.from_args([option], base="defaults")
    except OptctxError:
        return False
    return True


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """The second set differs from the first in one argument more, less or changed, or in several."""
    inputs, own, everything = _sample()
    job = draw(st.sampled_from(inputs))
    argument = (
        st.sampled_from(own[job]) | st.sampled_from(everything) if own[job] else st.sampled_from(everything)
    )
    arguments = st.lists(argument, max_size=_MOST, unique_by=lambda text: text.split("=")[0])
    first = draw(arguments)
    second = list(first)
    if first and draw(st.booleans()):
        second.pop(draw(st.integers(0, len(first) - 1)))
    names = {text.split("=")[0] for text in second}
    second += [text for text in draw(arguments) if text.split("=")[0] not in names]
    return Pair(job, tuple(first), tuple(second))


def compile_pair(pair: Pair) -> tuple[Compiled, Compiled]:
    """Both sets on this thread, one after the other."""
    return _compile(replace(pair.job, options=pair.first)), _compile(replace(pair.job, options=pair.second))


def _compile(job: Job) -> Compiled:
    with OptionContext.from_args(job.options, base="defaults"), optctx.record() as log:
        outcome = compile_job(job)
    return Compiled(outcome, log.fingerprint(), log.names)

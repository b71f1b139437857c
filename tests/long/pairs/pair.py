"""Pairs of option sets for one input, made by Hypothesis, and what compiling them gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st

import optctx
from evidence.conformance.job import Job, compile_job, initialise
from evidence.conformance.runlines import read_jobs
from optctx import OptionContext
from optctx.errors import OptctxError

__all__ = ["KINDS", "WRONG", "Pair", "judge", "make_pairs"]

WRONG = "equal fingerprints, different output"
KINDS = (
    "equal fingerprints, equal output",
    WRONG,
    "different fingerprints, different output",
    "different fingerprints, equal output",
)

_TESTS = Path(__file__).parents[2] / "programs"
_MOST = 4  # options of one set, before the second one gets more


@dataclass(frozen=True)
class Pair:
    """One input, and two sets of command-line arguments."""

    job: Job
    first: tuple[str, ...]
    second: tuple[str, ...]


def make_pairs(number: int, count: int) -> list[Pair]:
    """`count` pairs from seed `number`: the second set has an argument less, or others more, or both."""
    made: list[Pair] = []

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(_pairs())
    def collect(pair: Pair) -> None:
        made.append(pair)

    collect()
    return made


def judge(pair: Pair) -> str:
    """One of KINDS. Compiles both on this thread, each inside a context and a recording of its own."""
    (first, one), (second, other) = (_compile(pair.job, options) for options in (pair.first, pair.second))
    same = {True: "equal", False: "different"}
    return f"{same[one == other]} fingerprints, {same[first == second]} output"


def _compile(job: Job, options: tuple[str, ...]) -> tuple[object, str]:
    with OptionContext.from_args(options, base="defaults"), optctx.record() as log:
        outcome = compile_job(replace(job, options=options))
    return outcome, log.fingerprint()


@cache
def _sample() -> tuple[dict[Job, list[str]], list[str]]:
    """(inputs of tests/programs/sample, each with arguments that matter to it; all arguments), if scoped."""
    initialise()
    jobs, _ = read_jobs(_TESTS, ["sample"], lambda name: name in optctx.registry())
    own: dict[Job, list[str]] = {}
    for job in jobs:
        own.setdefault(job.bare(), []).extend(option for option in job.options if _is_scoped(option))
    return own, sorted({option for options in own.values() for option in options})


def _is_scoped(option: str) -> bool:
    try:
        OptionContext.from_args([option], base="defaults")
    except OptctxError:
        return False
    return True


@st.composite
def _pairs(draw: st.DrawFn) -> Pair:
    own, everything = _sample()
    job = draw(st.sampled_from(list(own)))
    argument = st.sampled_from(everything)
    if own[job]:
        argument = st.sampled_from(own[job]) | argument
    arguments = st.lists(argument, max_size=_MOST, unique_by=_name)
    first = draw(arguments)
    second = list(first)
    if first != [] and draw(st.booleans()):
        second.pop(draw(st.integers(0, len(first) - 1)))
    taken = {_name(text) for text in second}
    second += [text for text in draw(arguments) if _name(text) not in taken]
    assume(set(first) != set(second))
    return Pair(job, tuple(first), tuple(second))


def _name(argument: str) -> str:
    return argument.split("=")[0]

"""Pairs of compilations that differ in their options: equal fingerprints must mean equal output.

python -m tests.long.pairs --help
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st

import optctx
from evidence.conformance.job import Job, compile_job, initialise, source
from evidence.conformance.runlines import read_jobs
from optctx import OptionContext
from optctx.errors import OptctxError
from tests.long.fuzz.confined import Limits, outcomes
from tests.support.seccomp import FORBIDDEN

WRONG = "equal fingerprints, different output"
KINDS = (
    "equal fingerprints, equal output",
    WRONG,
    "different fingerprints, different output",
    "different fingerprints, equal output",
)
DIED = "that LLVM does not survive"

_TESTS = Path(__file__).parents[1] / "programs"
_MOST = 4  # options of one set, before the second one gets more
_BATCH = 2500  # pairs of one seed


@dataclass(frozen=True)
class Pair:
    """One input, and two sets of command-line arguments."""

    job: Job
    first: tuple[str, ...]
    second: tuple[str, ...]


def judge_pairs(number: int, count: int) -> tuple[Counter[str], list[str]]:
    """Judge the pairs of a seed in a forked child, and another after each death.

    Returns how often what was found, and the pairs that are wrong.
    """
    pairs: list[Pair] = []

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
        pairs.append(pair)

    collect()
    for path in {pair.job.path for pair in pairs}:
        source(path)
    limits = Limits(allowed=tuple(FORBIDDEN))  # what a pair reaches is not judged here
    ends = [outcome.how if outcome.how in KINDS else DIED for outcome in outcomes(pairs, _judge, limits)]
    wrong = [str(pair) for pair, end in zip(pairs, ends, strict=True) if end == WRONG]
    return Counter(ends), wrong


def _judge(pair: Pair) -> str:
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
    """The second set has an argument less, or others more, or both."""
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


def main(argv: Sequence[str] | None = None) -> int:
    """Print what was found; exit status 1 if a pair is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.pairs", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="pairs (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    sizes = [min(_BATCH, given.count - at) for at in range(0, given.count, _BATCH)]
    with multiprocessing.get_context("fork").Pool() as processes:
        found = processes.starmap(judge_pairs, enumerate(sizes, given.seed))
    counts = sum((counted for counted, _ in found), Counter[str]())
    for words in (*KINDS, DIED):
        print(f"{counts[words]:6}  {words}")
    wrong = [pair for _, pairs in found for pair in pairs]
    for pair in wrong:
        print(f"WRONG: {pair}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

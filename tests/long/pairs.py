"""Pairs of compilations that differ in their options: equal fingerprints must mean equal output."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import optctx
from evidence.conformance.job import Job, compile_job, initialise, source
from evidence.conformance.runlines import read_jobs
from optctx import OptionContext
from optctx.errors import OptctxError
from tests.long.fuzz.confined import Limits, outcomes
from tests.support.seccomp import FORBIDDEN

WRONG = "equal fingerprints, different output"
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
    chance = random.Random(number)
    pairs = [_draw(chance) for _ in range(count)]
    for path in {pair.job.path for pair in pairs}:
        source(path)
    limits = Limits(allowed=tuple(FORBIDDEN))  # what a pair reaches is not judged here
    found = [outcome.how for outcome in outcomes(pairs, _judge, limits)]
    ends = [how if how.endswith("output") else DIED for how in found]
    wrong = [str(pair) for pair, end in zip(pairs, ends, strict=True) if end == WRONG]
    return Counter(ends), wrong


def _judge(pair: Pair) -> str:
    """Compile both on this thread, each inside a context and a recording of its own."""
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


def _draw(chance: random.Random) -> Pair:
    """The second set has an argument less, or others more, or both."""
    own, everything = _sample()
    job = chance.choice(list(own))
    while True:
        first = _arguments(chance, own[job], everything)
        second = list(first)
        if second and chance.random() < 0.5:
            second.pop(chance.randrange(len(second)))
        taken = {_name(text) for text in second}
        second += [text for text in _arguments(chance, own[job], everything) if _name(text) not in taken]
        if set(first) != set(second):
            return Pair(job, tuple(first), tuple(second))


def _arguments(chance: random.Random, own: list[str], everything: list[str]) -> list[str]:
    """A few, each option once; half of them matter to the input."""
    pools = [own or everything, everything]
    drawn = [chance.choice(chance.choice(pools)) for _ in range(chance.randrange(_MOST + 1))]
    return list({_name(text): text for text in drawn}.values())


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
    for words in sorted(counts):
        print(f"{counts[words]:6}  {words}")
    wrong = [pair for _, pairs in found for pair in pairs]
    for pair in wrong:
        print(f"WRONG: {pair}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

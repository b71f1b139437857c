"""The command: python -m tests.long.pairs."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Sequence

from evidence.conformance.job import source
from tests.long.fuzz.confined import Limits, outcomes
from tests.long.pairs.pair import KINDS, WRONG, judge, make_pairs
from tests.support.seccomp import FORBIDDEN

__all__ = ["DIED", "judge_pairs", "main"]

DIED = "that LLVM does not survive"
_BATCH = 2500  # pairs of one seed


def judge_pairs(seed: int, count: int) -> tuple[Counter[str], list[str]]:
    """Judge pairs in a forked child, and another after each death.

    Returns how often what was found, and the pairs that are wrong.
    """
    pairs = make_pairs(seed, count)
    for path in {pair.job.path for pair in pairs}:
        source(path)
    limits = Limits(allowed=tuple(FORBIDDEN))  # what a pair reaches is not judged here
    ends = [outcome.how if outcome.how in KINDS else DIED for outcome in outcomes(pairs, judge, limits)]
    wrong = [str(pair) for pair, end in zip(pairs, ends, strict=True) if end == WRONG]
    return Counter(ends), wrong


def main(argv: Sequence[str] | None = None) -> int:
    """Print what was found; exit status 1 if a pair is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.long.pairs", description=sys.modules["tests.long.pairs"].__doc__
    )
    parser.add_argument("--count", type=int, default=10_000, help="pairs (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (one per processor)")
    given = parser.parse_args(argv)
    sizes = [min(_BATCH, given.count - at) for at in range(0, given.count, _BATCH)]
    with multiprocessing.get_context("fork").Pool(given.jobs) as processes:
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

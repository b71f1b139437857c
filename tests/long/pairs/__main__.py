"""The command: python -m tests.long.pairs."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from evidence.conformance.job import source
from tests.long.fuzz.confined import Limits, outcomes
from tests.long.pairs.pair import KINDS, WRONG, Pair, judge, make_pairs
from tests.support.seccomp import FORBIDDEN

__all__ = ["Tally", "judge_all", "main"]

_BATCH = 2500  # pairs of one process


@dataclass
class Tally:
    """`counts` by what was found; `wrong`: pairs with equal fingerprints and different output; `died`: pairs
    that LLVM does not survive."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    died: list[str] = field(default_factory=list)


def judge_all(pairs: Sequence[Pair]) -> Tally:
    """In a forked child, and another one after whatever pair ends it."""
    for path in {pair.job.path for pair in pairs}:
        source(path)
    tally = Tally()
    limits = Limits(allowed=tuple(FORBIDDEN))  # what a pair reaches is not judged here
    for pair, outcome in zip(pairs, outcomes(pairs, judge, limits), strict=True):
        if outcome.how in KINDS:
            tally.counts[outcome.how] += 1
        else:
            tally.died.append(str(pair))
        if outcome.how == WRONG:
            tally.wrong.append(str(pair))
    return tally


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the tally; exit status 1 if a pair is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.long.pairs", description=sys.modules["tests.long.pairs"].__doc__
    )
    parser.add_argument("--count", type=int, default=10_000, help="pairs (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (one per processor)")
    parser.add_argument("--json", action="store_true", help="one batch, in this process")
    arguments = parser.parse_args(argv)
    if arguments.json:
        tally = judge_all(make_pairs(arguments.seed, arguments.count))
        print(json.dumps([tally.counts, tally.wrong, tally.died]))
        return 0
    return _report(_all(arguments.count, arguments.seed, arguments.jobs))


def _all(count: int, seed: int, jobs: int) -> Tally:
    """A process for each batch."""

    def batch(number: int) -> tuple[dict[str, int], list[str], list[str]]:
        size = min(_BATCH, count - number * _BATCH)
        command = ["-m", "tests.long.pairs", "--json", "--count", str(size), "--seed", str(seed + number)]
        done = subprocess.run([sys.executable, *command], stdout=subprocess.PIPE, check=True)
        counts, wrong, died = json.loads(done.stdout)
        return counts, wrong, died

    tally = Tally()
    with ThreadPoolExecutor(jobs) as pool:
        for counts, wrong, died in pool.map(batch, range(-(-count // _BATCH))):
            tally.counts.update(counts)
            tally.wrong += wrong
            tally.died += died
    return tally


def _report(tally: Tally) -> int:
    for words in KINDS:
        print(f"{tally.counts[words]:6}  {words}")
    print(f"{len(tally.died):6}  that LLVM does not survive")
    for pair in tally.wrong:
        print(f"WRONG: {pair}")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

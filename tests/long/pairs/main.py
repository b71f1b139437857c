"""The command: python -m tests.long.pairs."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.long.pairs.pair import Pair, judge, make_pairs

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
    tally = Tally()
    at = 0
    while at < len(pairs):
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            _child(pairs[at:], writing)
        os.close(writing)
        with os.fdopen(reading) as lines:
            for line in lines:
                _count(tally, pairs[at], line.strip())
                at += 1
        os.waitpid(pid, 0)
        if at < len(pairs):
            tally.died.append(str(pairs[at]))
            at += 1
    return tally


def _child(pairs: Sequence[Pair], writing: int) -> None:
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what LLVM says of a command line that it refuses
        for pair in pairs:
            verdict = judge(pair)
            os.write(writing, f"{verdict.same_fingerprint:d}{verdict.same_output:d}\n".encode())
    finally:
        os._exit(0)


_WORDS = {
    "11": "equal fingerprints, equal output",
    "10": "equal fingerprints, different output",
    "00": "different fingerprints, different output",
    "01": "different fingerprints, equal output",
}


def _count(tally: Tally, pair: Pair, verdict: str) -> None:
    tally.counts[_WORDS[verdict]] += 1
    if verdict == "10":
        tally.wrong.append(str(pair))


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
    batches = [min(_BATCH, count - begin) for begin in range(0, count, _BATCH)]
    tally = Tally()
    running: list[subprocess.Popen[str]] = []
    for number, size in enumerate(batches):
        if len(running) == jobs:
            _take(tally, running.pop(0))
        command = ["-m", "tests.long.pairs", "--json", "--count", str(size), "--seed", str(seed + number)]
        running.append(subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True))
    for process in running:
        _take(tally, process)
    return tally


def _take(tally: Tally, process: subprocess.Popen[str]) -> None:
    out, _ = process.communicate()
    counts, wrong, died = json.loads(out)
    tally.counts.update(counts)
    tally.wrong += wrong
    tally.died += died


def _report(tally: Tally) -> int:
    for words in _WORDS.values():
        print(f"{tally.counts[words]:6}  {words}")
    print(f"{len(tally.died):6}  that LLVM does not survive")
    for pair in tally.wrong:
        print(f"WRONG: {pair}")
    return 1 if tally.wrong else 0

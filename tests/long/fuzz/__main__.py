"""Hostile input that comes with a module: attributes, stamps, and sets of options that a module may set."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.long.fuzz.hunt import Hunt, Target
from tests.long.fuzz.modules import ModulesTarget
from tests.long.fuzz.sets import SetsTarget
from tests.long.fuzz.stamps import StampsTarget

_MOST = 10  # findings of a target, before giving up on it

Options = argparse.Namespace
# By name: the target, and the cases of a seed.
_TARGETS: dict[str, tuple[Callable[[Options], Target[Any]], int]] = {
    "modules": (lambda given: ModulesTarget(given.seconds), 200),
    "stamps": (lambda given: StampsTarget(given.seconds), 200),
    "sets": (lambda given: SetsTarget(given.seconds, given.llvm_tests, given.jobs), 1000),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if nothing was found, 1 if something was."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.fuzz", description=__doc__)
    add = parser.add_argument
    add("--target", nargs="+", choices=_TARGETS, default=list(_TARGETS), help="what is fuzzed (all)")
    add("--minutes", type=float, default=0, help="go on for so long, all targets together; 0: --cases only")
    add("--cases", type=int, help="for each seed")
    add("--seed", type=int, default=1, help="the first of them")
    add("--seconds", type=float, default=20, help="that a case may take")
    inputs = "of llvm/test (Transforms), whose inputs the target sets compiles, too"
    add("--llvm-tests", nargs="+", default=(), metavar="FOLDER", help=inputs)
    add("--jobs", type=int, metavar="COUNT", help="of the target sets: compilations to choose from")
    options = parser.parse_args(arguments)
    found = 0
    for name in options.target:
        end = time.monotonic() + 60 * options.minutes / len(options.target)
        make, cases = _TARGETS[name]
        target = make(options)
        target.prepare()
        gc.collect()
        gc.freeze()  # children share these pages
        found += _run(Hunt(target), options.seed, options.cases or cases, end)
    return int(found > 0)


def _run(hunt: Hunt[Any], seed: int, cases: int, end: float) -> int:
    """How many findings there are, when the time has come."""
    told = 0
    while True:
        hunt.run_batch(seed, cases)
        print(f"{hunt.target.name}, seed {seed}: {hunt.summary()}", flush=True)
        for finding in hunt.findings[told:]:
            print(f"FOUND {finding}", flush=True)
        told, seed = len(hunt.findings), seed + 1
        if time.monotonic() >= end or told >= _MOST:
            return told


if __name__ == "__main__":
    sys.exit(main())

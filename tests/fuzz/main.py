"""The command: python -m tests.fuzz."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from tests.fuzz.caches import CachesTarget
from tests.fuzz.hunt import Hunt
from tests.fuzz.modules import ModulesTarget
from tests.fuzz.options import options_fuzzer
from tests.fuzz.stamps import StampsTarget

__all__ = ["main"]


class Fuzzer(Protocol):
    """What runs the cases of a target."""

    @property
    def findings(self) -> Sequence[object]: ...
    def run_batch(self, number: int, count: int, /) -> None:
        """`count` cases from seed `number`."""

    def summary(self) -> str: ...


def _hunting(make: Callable[[float], Any]) -> Callable[[float], AbstractContextManager[Fuzzer]]:
    @contextmanager
    def hunt(seconds: float) -> Iterator[Fuzzer]:
        target = make(seconds)
        target.prepare()
        yield Hunt(target)

    return hunt


_TARGETS: dict[str, tuple[Callable[[float], AbstractContextManager[Fuzzer]], int]] = {  # cases for each seed
    "options": (options_fuzzer, 1000),
    "modules": (_hunting(ModulesTarget), 200),
    "stamps": (_hunting(StampsTarget), 200),
    "caches": (_hunting(CachesTarget), 200),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if nothing was found, 1 if something was."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--target", choices=(*_TARGETS, "all"), default="all", help="what is fuzzed")
    parser.add_argument(
        "--minutes", type=float, default=0, help="go on for so long, all targets together; 0 is --cases only"
    )
    parser.add_argument("--cases", type=int, help="for each seed")
    parser.add_argument("--seed", type=int, default=1, help="the first of them")
    parser.add_argument("--seconds", type=float, default=20, help="that a case may take")
    parser.add_argument("--findings", type=int, default=10, help="of a target, before giving up on it")
    options = parser.parse_args(arguments)
    names = list(_TARGETS) if options.target == "all" else [options.target]
    found = 0
    for name in names:
        end = time.monotonic() + 60 * options.minutes / len(names)
        make, cases = _TARGETS[name]
        with make(options.seconds) as fuzzer:
            found += _run(name, fuzzer, options.seed, options.cases or cases, end, options.findings)
    return int(found > 0)


def _run(name: str, fuzzer: Fuzzer, seed: int, cases: int, end: float, most: int) -> int:
    """How many findings there are, when the time has come."""
    told = 0
    while True:
        fuzzer.run_batch(seed, cases)
        print(f"{name}, seed {seed}: {fuzzer.summary()}")
        for finding in fuzzer.findings[told:]:
            print(f"FOUND {finding}", flush=True)
        told, seed = len(fuzzer.findings), seed + 1
        if time.monotonic() >= end or told >= most:
            return told

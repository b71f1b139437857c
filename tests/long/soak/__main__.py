"""The command: python -m tests.long.soak."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from optctx.children.pool import Pool
from optctx.compiling import llvm_pool
from tests.long.soak.answers import known_answers
from tests.long.soak.kinds import KINDS, chosen
from tests.long.soak.memory import Growth
from tests.long.soak.watched import StockProcess, WatchedWorker, resident
from tests.long.soak.worker import Plan, keep

__all__ = ["main"]

_MOST = 10  # findings before giving up
_SAMPLE = 1.0  # seconds between samples of memory
_TOLD = 60.0  # seconds between lines of progress


@dataclass
class Soak:
    """One after the other, workers of growing seeds; beside them stock llvmlite, for its memory."""

    options: argparse.Namespace
    kinds: list[str]
    pool: Pool
    findings: list[str] = field(default_factory=list)
    operations: int = 0
    workers: int = 0
    growth: Growth = field(default_factory=Growth)
    stock: Growth = field(default_factory=Growth)

    def run(self) -> None:
        until = time.monotonic() + 60 * self.options.minutes
        stock = StockProcess(self.options.threads, self.options.seed)
        try:
            while len(self.findings) < _MOST:
                self._run_worker(max(0.0, until - time.monotonic()), stock)
                if time.monotonic() >= until:
                    break
        finally:
            stock.stop()

    def _run_worker(self, seconds: float, stock: StockProcess) -> None:
        given = self.options
        seed = given.seed + self.workers
        self.workers += 1
        plan = Plan(seed, given.threads, seconds, given.operations, tuple(self.kinds))
        worker = WatchedWorker(self.pool, plan, given.seconds)
        growth = Growth()
        told = time.monotonic()
        while (found := worker.watch(_SAMPLE)) is None:
            if worker.operations:
                growth.add(worker.compilations, resident(worker.pid))
            self.stock.add(stock.finished(), resident(stock.pid))
            if time.monotonic() - told >= _TOLD:
                told = time.monotonic()
                print(f"seed {seed}: {worker.operations} operations, {growth}", flush=True)
        self.operations += worker.operations
        if len(growth.samples) >= len(self.growth.samples):
            self.growth = growth  # of the worker that lived longest
        if found:
            self.findings.append(found)
            print(found, flush=True)

    def __str__(self) -> str:
        found = dict.fromkeys(("WRONG", "HANG", "CRASH"), 0)
        for finding in self.findings:
            found[finding.split()[0]] += 1
        return (
            f"{self.operations} operations of {len(self.kinds)} kinds in {self.workers} processes, "
            f"{found['WRONG']} wrong, {found['HANG']} hangs, {found['CRASH']} crashes\n"
            f"memory with optctx: {self.growth}\n"
            f"memory of stock llvmlite: {self.stock}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if nothing was found, 1 if something was."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.long.soak",
        description=__doc__,
        epilog=f"kinds of operations: {', '.join(KINDS)}",
    )
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--operations", type=int, default=1 << 31, help="of each thread, at most")
    parser.add_argument("--seed", type=int, default=1, help="of the first worker process")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=120, help="that one operation may take")
    parser.add_argument("--without", default="", metavar="KINDS", help="kinds of operations, by commas")
    parser.add_argument("--only", default="", metavar="KINDS")
    options = parser.parse_args(arguments)
    names = {each: set(filter(None, getattr(options, each).split(","))) for each in ("without", "only")}
    try:
        kinds = chosen(**names)
    except ValueError as error:
        parser.error(str(error))
    answers = known_answers()
    with (
        tempfile.TemporaryDirectory(prefix="soak-") as folder,
        Pool(keep, answers, within=llvm_pool(), directory=folder) as pool,
    ):
        soak = Soak(options, kinds, pool)
        soak.run()
    print(soak)
    return int(bool(soak.findings))


if __name__ == "__main__":
    sys.exit(main())

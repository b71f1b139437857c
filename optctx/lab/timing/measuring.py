"""The settings of a measurement, which every command that measures has as its flags."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from optctx.compiling import Job
from optctx.lab.settings import Number, seconds, setting
from optctx.lab.timing.bench import Bench, CommandBench, KernelBench, harness_of
from optctx.lab.timing.kernel import Harness, Kernel, find_kernel, harness_beside


@dataclass(frozen=True)
class Measuring:
    """How run times are measured."""

    title: ClassVar[str] = "run time"
    entry: str = setting(
        "",
        "what to call (as the harness says; without one, a function without arguments)",
        metavar="FUNCTION",
    )
    harness: str = setting(
        "", "what it is called with, a Python file (FILE_harness.py beside the file)", metavar="FILE"
    )
    measure_seconds: float = setting(
        5.0,
        "for the run times of up to eight candidates, which are taken together (%(default)s)",
        metavar="S",
        read=seconds,
    )
    processor: int | None = setting(
        None,
        "where kernels are timed (an isolated one, or the last)",
        metavar="N",
        read=Number(int, "the number of a processor, such as 1", lambda found: found >= 0),
    )
    command: str = setting(
        "",
        "a program to measure by instead: it prints a number last; '{object}' stands for the object's path",
        metavar="'PROGRAM {object}'",
    )

    def wants_time(self, file: str) -> bool:
        """Whether something says what to call: a harness, named or beside the file, or an entry."""
        return bool(self.harness or self.entry) or has_harness(file)

    def kernel(self, file: str, job: Job) -> Kernel:
        """What is called of a module.

        Raises NoHarnessError if the function takes arguments and no harness says which, and OptctxError for
        what cannot be called or used.
        """
        path = self.harness or (harness_beside(file) if has_harness(file) else "")
        return find_kernel(job, self.entry, harness_of(path) if path else Harness(), file)

    def bench(self, base: bytes, kernel: Kernel | None) -> Bench:
        """What measures candidates against a base. Raises OptctxError for no such processor or command."""
        if kernel is None:
            return CommandBench(base, self.command)
        return KernelBench(base, kernel, processor=self.processor)


def has_harness(file: str) -> bool:
    """Whether one lies beside a file. An empty one is what a shell has made for the harness to fill in."""
    place = harness_beside(file)
    return os.path.exists(place) and os.path.getsize(place) > 0

"""The settings of a measurement, which every command that measures has as its flags."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from optctx.compiling import Job
from optctx.lab.settings import setting
from optctx.lab.timing.bench import Bench, CommandBench, KernelBench, harness_of
from optctx.lab.timing.kernel import Harness, Kernel, find_kernel, harness_beside


@dataclass(frozen=True)
class Measuring:
    """How run times are measured."""

    title: ClassVar[str] = "run time"
    harness: str = setting(
        "",
        "what is called and with what, a Python file (FILE_harness.py beside the file)",
        metavar="FILE",
    )
    command: str = setting(
        "",
        "a program to measure by instead: it prints a number last; '{object}' stands for the object's path",
        metavar="'PROGRAM {object}'",
    )

    def wants_time(self, file: str) -> bool:
        """Whether a harness, named or beside the file, says what to call."""
        return bool(self.harness) or has_harness(file)

    def kernel(self, file: str, job: Job) -> Kernel:
        """What is called of a module.

        Raises NoHarnessError if the function takes arguments and no harness says which, and OptctxError for
        what cannot be called or used.
        """
        path = self.harness or (harness_beside(file) if has_harness(file) else "")
        return find_kernel(job, harness_of(path) if path else Harness(), file)

    def bench(self, base: bytes, kernel: Kernel | None) -> Bench:
        """What measures candidates against a base. Raises OptctxError for what is no command."""
        if kernel is None:
            return CommandBench(base, self.command)
        return KernelBench(base, kernel)


def has_harness(file: str) -> bool:
    """Whether one lies beside a file. An empty one is what a shell has made for the harness to fill in."""
    place = harness_beside(file)
    return os.path.exists(place) and os.path.getsize(place) > 0

"""The flags of commands that measure run times."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from optctx.compiling import Job
from optctx.lab.settings import setting
from optctx.lab.timing.bench import harness_of
from optctx.lab.timing.kernel import Harness, Kernel, NoHarnessError, find_kernel, harness_beside, has_harness


@dataclass(frozen=True)
class Measuring:
    """How run times are measured."""

    title: ClassVar[str] = "run time"
    harness: str = setting(
        "",
        "what is called and with what, a Python file (FILE_harness.py beside the file)",
        metavar="FILE",
    )

    def wants_time(self, file: str) -> bool:
        """Whether a harness, named or beside the file, says what to call."""
        return bool(self.harness) or has_harness(file)

    def kernel(self, file: str, job: Job) -> Kernel:
        """What is called of a module.

        Raises NoHarnessError, after it has printed a harness to fill in, if the function takes arguments and
        no harness says which; and OptctxError for what cannot be called or used.
        """
        path = self.harness or (harness_beside(file) if has_harness(file) else "")
        try:
            return find_kernel(job, harness_of(path) if path else Harness(), file)
        except NoHarnessError as error:
            sys.stdout.write(error.text)
            raise

"""Compiles jobs in fresh processes: a crash of LLVM fails the test, and does not end the test run."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import ExitStack

from optctx.compiling import FreshProcess, Job, Result
from optctx.errors import OptctxError


class CrashError(OptctxError, AssertionError):
    """LLVM crashed, failed an assertion or exited, in a test's child or in the fresh process of a job."""


class HangError(OptctxError, AssertionError):
    """The child, or the fresh process, took longer than the limit."""


class Compiler:
    """A context manager that compiles jobs, each in a fresh process with the job's options set process-wide.

    Any number of threads may compile at once. Jobs run in an empty folder that is removed at the end.
    """

    def __init__(self, *, timeout: float = 10.0, memory: int = 4 << 30) -> None:
        """`timeout`: seconds for one job. `memory`: bytes of address space for one, in addition to LLVM's."""
        self._timeout, self._memory = timeout, memory
        self._fresh = FreshProcess(timeout=timeout, memory=memory)  # refuses until another one runs
        self._closing = ExitStack()

    def __enter__(self) -> Compiler:
        folder = self._closing.enter_context(
            tempfile.TemporaryDirectory(prefix="optctx-", ignore_cleanup_errors=True)
        )
        fresh = FreshProcess(timeout=self._timeout, memory=self._memory, directory=folder)
        self._fresh = self._closing.enter_context(fresh)
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.close()

    def compile(self, job: Job) -> Result:
        """Compile a job. An error that LLVM survives, such as IR that does not parse, is `Result.error`.

        Raises:
            CrashError: LLVM crashed or exited; the message ends with LLVM's last line.
            HangError: LLVM took longer than `timeout`.
            OptctxError: This compiler is not entered; or this machine's limits allow no fresh process.
        """
        result = self._fresh.compile(job)
        under = f" with {shlex.join(job.options)}" if job.options else " without options"
        match result.end:
            case "ok" | "failed":
                return result
            case "lost":
                raise OptctxError(f"cannot compile{under}: {result.error}")
            case "timed out":
                raise HangError(f"LLVM took longer than {self._timeout:g} s{under}")
        raise CrashError(f"LLVM died{under}: {result.error}")

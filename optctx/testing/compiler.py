"""Compiles jobs in fresh processes: a crash of LLVM fails the test, and does not end the test run."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache

from optctx.children.death import last_words
from optctx.children.messages import Limits
from optctx.compiling import FreshProcess, Job, Result, answered, llvm_pool
from optctx.errors import OptctxError
from optctx.lab.recording import Recorded, recorded

_KEPT = 256  # results to remember
_LONGEST = 300  # characters of an error
_RECORDING = 120.0  # seconds


class DiedError(OptctxError, AssertionError):
    """A test's child, or the fresh process of a compilation, ended before its work.

    `printed` is what it printed last, and `last_line` LLVM's last words, which may be empty. A `Compiler`
    gives `job`, the compilation, and `result`, what it left; both are None otherwise.
    """

    def __init__(
        self, message: str, printed: str, job: Job | None = None, result: Result | None = None
    ) -> None:
        super().__init__(message)
        self.printed = printed
        self.last_line = last_words(printed)
        self.job = job
        self.result = result


class CrashError(DiedError):
    """LLVM crashed, failed an assertion or exited."""


class HangError(DiedError):
    """LLVM took longer than the limit."""


class Compiler:
    """A context manager that compiles jobs, each in a fresh process with the job's options set process-wide.

    Any number of threads may compile at once. Recent results are remembered, because Hypothesis runs an
    example several times while it shrinks. A crash or a hang therefore costs its time once. Jobs run in an
    empty folder that is removed at the end.
    """

    def __init__(self, *, timeout: float = 10.0, memory: int = 4 << 30) -> None:
        """`timeout`: seconds for one job. `memory`: bytes of address space for one, in addition to LLVM's."""
        self._timeout = timeout
        self._memory = memory
        self._closing = ExitStack()
        self._fresh: FreshProcess | None = None
        self._remembered = lru_cache(_KEPT)(self._compiled)

    def __enter__(self) -> Compiler:
        if self._fresh is not None:
            raise OptctxError("this Compiler is running already; compile with it, or make another one")
        folder = self._closing.enter_context(
            tempfile.TemporaryDirectory(prefix="optctx-", ignore_cleanup_errors=True)
        )
        fresh = FreshProcess(timeout=self._timeout, memory=self._memory, directory=folder)
        self._fresh = self._closing.enter_context(fresh)
        return self

    def __exit__(self, *error: object) -> None:
        self._fresh = None
        self._remembered.cache_clear()
        self._closing.close()

    def compile(self, job: Job) -> Result:
        """Compile a job. An error that LLVM survives, such as IR that does not parse, is `Result.error`.

        Raises:
            CrashError: LLVM crashed or exited; the message ends with LLVM's last line.
            HangError: LLVM took longer than `timeout`.
            OptctxError: This compiler is not entered; or this machine's limits allow no fresh process.
        """
        result = self._remembered(job)
        if result.end == "timed out":
            raise HangError(
                f"LLVM took longer than {self._timeout:g} s{_under(job)}", result.stderr, job, result
            )
        if result.died:
            raise CrashError(f"LLVM died{_under(job)}: {_reason(result)}", result.stderr, job, result)
        return result

    def _compiled(self, job: Job) -> Result:
        if self._fresh is None:
            raise OptctxError("this Compiler is not running; use it inside its `with` block")
        result = self._fresh.compile(job)
        if result.end == "lost":
            raise OptctxError(f"cannot compile{_under(job)}: {result.error}")
        return result


def _under(job: Job) -> str:
    return f" with {shlex.join(job.options)}" if job.options else " without options"


def _reason(result: Result) -> str:
    """LLVM's last words, or how the process ended if there are none."""
    return last_words(result.stderr) or " ".join((result.error or "").split())[:_LONGEST]


@lru_cache
def reads_of(job: Job) -> frozenset[str]:
    """The names of the options that LLVM reads for a job, under the options of the job.

    A process of its own compiles it. Raises OptctxError if LLVM refuses the job, or ends that process.
    """
    job, limits = replace(job, emit="object"), Limits(_RECORDING)
    done = llvm_pool().call(recorded, job, gives=Recorded, limits=limits)
    return frozenset(read.name for read in answered(done, "cannot record what LLVM reads").read)

"""A new process that parses the options of its first job, and compiles job after job under them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import replace

from optctx.children.death import cause_of_end, printed_to
from optctx.children.frames import encode, messages, write_all
from optctx.children.python import python_command
from optctx.compiling import Job, Result
from optctx.compiling.job import compile_unchecked, initialise_targets
from optctx.errors import OptctxError
from optctx.process import set_process_options


class Worker:
    """Starts at once; its options go with the first job. Not for two threads at once.

    It ends when its standard input does, so with the process that made it.
    """

    def __init__(self, options: tuple[str, ...]) -> None:
        self.options = options
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self._process = subprocess.Popen(
            python_command("from evidence.strategies.workers import main; main()"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            bufsize=0,
        )

    def compile(self, job: Job) -> Result:
        """Compile; the job has no options of its own. Raises OptctxError if the worker has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            write_all(self._process.stdin.fileno(), encode(replace(job, options=self.options)))
            for result in messages(self._process.stdout.fileno(), Result):
                return result
        except OSError:
            pass
        raise OptctxError(cause_of_end(self._process.wait(), printed_to(self._printed.fileno())))

    def close(self) -> None:
        """End the process."""
        self._process.kill()  # it holds nothing that is lost
        self._process.communicate()
        self._printed.close()


def main() -> None:
    """Answer jobs on standard input until it ends. LLVM ends the process for a bad option."""
    answers = os.dup(1)
    os.dup2(2, 1)
    initialise_targets()
    parsed = False
    for job in messages(0, Job):
        if not parsed:
            set_process_options(job.options)
            parsed = True
        write_all(answers, encode(compile_unchecked(replace(job, options=()))))

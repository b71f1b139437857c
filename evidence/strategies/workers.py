"""A process that has parsed one set of options and compiles job after job under them."""

from __future__ import annotations

from dataclasses import replace

from optctx.fresh import Job, Result
from optctx.fresh.answering import AnsweringHelper
from optctx.fresh.helper import answers_of_helper
from optctx.fresh.job import compile_unchecked, initialise_targets
from optctx.fresh.protocol import encode, received, write_all
from optctx.process import set_process_options

__all__ = ["Worker", "main"]

_GRACE = 5.0  # seconds that a worker may take to end


class Worker:
    """Starts at once; the options go with the first job. Not for two threads at once."""

    def __init__(self, options: tuple[str, ...]) -> None:
        self.options = options
        self._helper = AnsweringHelper("evidence.strategies.workers", _GRACE)

    def compile(self, job: Job) -> Result:
        """Compile; the job has no options of its own. Raises OptctxError if the worker has ended."""
        result: Result = self._helper.ask(replace(job, options=self.options))
        return result

    def close(self) -> None:
        """End the process."""
        self._helper.close()


def main() -> None:
    """Answer jobs on standard input until it ends. The options are those of the first job."""
    answers = answers_of_helper()
    initialise_targets()
    parsed = False
    for job in received(0):
        if not parsed:
            set_process_options(job.options)
            parsed = True
        write_all(answers, encode(compile_unchecked(replace(job, options=()))))

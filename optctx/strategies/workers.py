"""A process that has parsed one set of options and compiles job after job under them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import replace

from optctx.errors import OptctxError
from optctx.fresh import Job, Result
from optctx.fresh.helper import answers_of_helper, cause_of_end, end_helper, start_helper
from optctx.fresh.job import compile_unchecked, initialise_targets
from optctx.fresh.options import set_process_options
from optctx.fresh.protocol import Decoder, encode, write_all

__all__ = ["Worker", "main"]

_CHUNK = 1 << 20  # bytes read at once
_GRACE = 5.0  # seconds that a worker may take to end


class Worker:
    """Starts at once; the options go with the first job. Not for two threads at once."""

    def __init__(self, options: tuple[str, ...]) -> None:
        self.options = options
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the worker
        self._helper: subprocess.Popen[bytes] = start_helper(
            "optctx.strategies.workers", printed=self._printed.fileno()
        )
        self._decoder = Decoder()

    def compile(self, job: Job) -> Result:
        """Compile; the job has no options of its own. Raises OptctxError if the worker has ended."""
        assert self._helper.stdin is not None
        assert self._helper.stdout is not None
        try:
            write_all(self._helper.stdin.fileno(), encode(replace(job, options=self.options)))
            while True:
                data = os.read(self._helper.stdout.fileno(), _CHUNK)
                if not data:
                    break
                for result in self._decoder.feed(data):
                    return result  # type: ignore[no-any-return]  # the worker sends nothing else
        except OSError:
            pass
        status = self._helper.wait()
        self._printed.seek(0)
        raise OptctxError(cause_of_end(status, self._printed.read().decode(errors="replace")))

    def close(self) -> None:
        """End the process."""
        assert self._helper.stdin is not None
        assert self._helper.stdout is not None
        self._helper.stdin.close()
        end_helper(self._helper, _GRACE)
        self._helper.stdout.close()
        self._printed.close()


def main() -> None:
    """Answer jobs on standard input until it ends. The options are those of the first job."""
    answers = answers_of_helper()
    initialise_targets()
    decoder, parsed = Decoder(), False
    while data := os.read(0, _CHUNK):
        for job in decoder.feed(data):
            if not parsed:
                set_process_options(job.options)
                parsed = True
            write_all(answers, encode(compile_unchecked(replace(job, options=()))))

"""A process that reads one job, compiles it as a compiler would, answers, and ends."""

from __future__ import annotations

import os
from dataclasses import replace

from optctx.children.frames import Reader, encode, write_all
from optctx.compiling.job import Job, compile_unchecked, initialise_targets
from optctx.process import set_process_options

__all__ = ["main"]


def main() -> None:
    """Use standard input and output. LLVM ends the process for a bad option."""
    (job,) = Reader(0, Job)
    answers = os.dup(1)
    os.dup2(2, 1)
    initialise_targets()
    set_process_options(job.options)
    write_all(answers, encode(compile_unchecked(replace(job, options=()))))

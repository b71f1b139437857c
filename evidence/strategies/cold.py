"""A process that reads one job, compiles it as a compiler would, answers, and ends."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from optctx.fresh.job import compile_unchecked, initialise_targets
from optctx.fresh.protocol import Decoder, encode, write_all
from optctx.process import set_process_options

__all__ = ["main"]


def main() -> None:
    """Use standard input and output. LLVM ends the process for a bad option."""
    (job,) = Decoder().feed(sys.stdin.buffer.read())
    answers = os.dup(1)
    os.dup2(2, 1)
    initialise_targets()
    set_process_options(job.options)
    write_all(answers, encode(compile_unchecked(replace(job, options=()))))

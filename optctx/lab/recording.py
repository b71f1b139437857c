"""What LLVM reads for a job, recorded in a process of its own."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from optctx import OptionContext, Read, Unread, record
from optctx.compiling import Job, compile_unchecked, why_passes_skip
from optctx.errors import OptctxError


class Recorded(msgspec.Struct, frozen=True):
    """What a log has, as plain data, which can come from another process."""

    read: tuple[Read, ...]
    unread: tuple[Unread, ...]
    skipped: str = ""  # why passes skip functions of the file: all, or some where there is an `unread`


def recorded(_: object, job: Job) -> Recorded:
    """What LLVM reads for a job, and which of its options it does not. For a child: LLVM may end the process.

    LLVM knows the job's target. Raises OptctxError if LLVM refuses the job.
    """
    context = OptionContext.from_args(job.options, image=job.image)
    with context, record(job.image) as log:
        result = compile_unchecked(replace(job, options=()))
    if result.error is not None:
        raise OptctxError(result.error)
    skipped = why_passes_skip(job, partly=bool(log.unread))
    return Recorded(tuple(log.reads.values()), tuple(log.unread), skipped)

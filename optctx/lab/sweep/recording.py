"""What LLVM reads for a job, recorded in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from optctx import OptionContext, Read, Unread, record
from optctx.compiling import Job, compile_unchecked
from optctx.errors import OptctxError
from optctx.facts import text


class Recorded(msgspec.Struct, frozen=True):
    """What a log has, as plain data, which can come from another process."""

    read: tuple[Read, ...]
    unread: tuple[Unread, ...]

    def rows(self) -> Iterator[Sequence[str]]:
        """Headings, and a row for each option that was read and each override that was not.

        Several values or functions are separated by "; ".
        """
        yield "option", "read", "value", "functions", "note"
        for read in self.read:
            values, functions = "; ".join(map(text, read.values)), "; ".join(read.functions)
            yield read.name, "true", values, functions, read.note
        for unread in self.unread:
            yield unread.name, "false", text(unread.value), "", unread.cause


def recorded(_: object, job: Job) -> Recorded:
    """What LLVM reads for a job, and which of its options it does not. For a child: LLVM may end the process.

    LLVM knows the job's target. Raises OptctxError if LLVM refuses the job.
    """
    context = OptionContext.from_args(job.options, process_wide="exclusive")
    with context, record() as log:
        result = compile_unchecked(replace(job, options=()))
    if result.error is not None:
        raise OptctxError(result.error)
    return Recorded(tuple(log.reads.values()), tuple(log.unread))

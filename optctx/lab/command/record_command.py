"""`optctx record`: shows the options that LLVM reads for a file, and those set that it does not read."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace

from optctx import OptionContext, record
from optctx.compiling import Job, compile_job, llvm_pool
from optctx.errors import OptctxError
from optctx.facts import text
from optctx.lab.command.console import complain_printed, printed, say, show
from optctx.lab.command.files import naming_module
from optctx.lab.command.groups import Base, Input, add_file, add_out
from optctx.lab.command.inputs import answered
from optctx.lab.lookup import Recorded
from optctx.lab.settings import add_flags, taken
from optctx.tables import table

__all__ = ["add", "run"]


DESCRIPTION = (
    "Compile a file once in a process of its own. Show every option that LLVM reads, with "
    "its value and the functions that read it, and every option set by --set that LLVM does not read, "
    "with the likely cause. Exit status 2 for bad input."
)
EXAMPLE = (
    "optctx record kernel.ll --set unroll-count=4 --set hexagon-initial-cfg-cleanup=false\n"
    "optctx record kernel.ll --passes 'default<O1>' --format json > read.json"
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_file(parser)
    add_flags(parser, Input, Base)
    add_out(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compile, and print the options that were read. Raises OptctxError and OSError."""
    llvm_pool()  # its server starts while this process reads the file
    base = taken(arguments, Base)
    options = tuple(base.context().args())
    job = replace(taken(arguments, Input).under(base).job(arguments.file), options=options, emit="object")
    # What LLVM prints has names of the module in it, and LLVM may end the process.
    done = llvm_pool().call(recorded, job, gives=Recorded)
    with naming_module(arguments.file):
        found = answered(done, f"cannot compile {arguments.file}")
    complain_printed(Counter(line for line in done.printed.splitlines() if line.strip()))
    if not printed(arguments.format, lambda: found, found.rows):
        _print(found)
    return 0


def recorded(_: None, job: Job) -> Recorded:
    """What LLVM reads for a job, and which of its options it does not. Raises OptctxError if it refuses."""
    context = OptionContext.from_args(job.options, process_wide="exclusive")
    with context, record() as log:
        result = compile_job(replace(job, options=()))
    if result.error is not None:
        raise OptctxError(result.error)
    return Recorded.of(log)


def _print(found: Recorded) -> None:
    """Tables with the values last, which can be long."""
    if found.read:
        cells = (read.cells for read in found.read)
        rows = [(name, functions, values) for name, values, functions in cells]
        show(table(("option", "read by", "value"), rows, whole=("option",)), ("read by",))
        say("")
    if found.unread:
        causes = [(each.name, each.cause, text(each.value)) for each in found.unread]
        show(table(("override", "not read because", "value"), causes, whole=("override",)))
        say("")
    say(found.summary())

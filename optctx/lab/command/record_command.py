"""Compile a file once in a process of its own. Show every option that LLVM reads, with its value and the
functions that read it, and every option set by --set that LLVM does not read, with the likely cause. It takes
as long as LLVM does: Ctrl-C ends it. Exit status 2 for bad input, 130 after Ctrl-C.

    optctx record kernel.ll --set unroll-count=4 --set hexagon-initial-cfg-cleanup=false
    optctx record kernel.ll --passes 'default<O1>' --format json > read.json
    optctx record kernel.ll --llvm build/lib/libLLVM.so
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from optctx.compiling import answered, llvm_pool
from optctx.compiling.facts import text
from optctx.lab.command.console import complain_printed, printed, say, show
from optctx.lab.command.groups import Base, File, Input, Out
from optctx.lab.experiment import judge_target
from optctx.lab.recording import Recorded, recorded
from optctx.lab.settings import group
from optctx.lab.tables import Table
from optctx.wording import counted


@dataclass(frozen=True)
class Arguments(File):
    """What `optctx record` takes."""

    input: Input = group(Input)
    base: Base = group(Base)
    out: Out = group(Out)


def run(given: Arguments) -> None:
    """Compile, and print the options that were read. Raises OptctxError and OSError."""
    llvm_pool()  # its server starts while this process reads the file
    options = tuple(given.base.context(given.input.image).args())
    job = given.input.under(given.base).job(given.file)
    job = replace(job, options=options, emit="object")
    judge_target(job)
    # What LLVM prints has names of the module in it, and LLVM may end the process.
    done = llvm_pool().call(recorded, job, gives=Recorded)
    found = answered(done, f"cannot compile {given.file}")
    complain_printed(Counter(line for line in done.printed.splitlines() if line.strip()))
    if not printed(given.out.format, lambda: found):
        _print(found)


def _print(found: Recorded) -> None:
    """Tables with the values last, which can be long."""
    if found.read:
        cells = (read.cells for read in found.read)
        rows = [(name, functions, values) for name, values, functions in cells]
        show(Table(("option", "read by", "value"), rows))
        say("")
    if found.skipped:
        say(f"{found.skipped}\n")
    if found.unread:
        causes = [(each.name, each.cause, text(each.value)) for each in found.unread]
        show(Table(("override", "not read because", "value"), causes))
        say("")
    unread = counted(len(found.unread), "override")
    say(f"{counted(len(found.read), 'option')} read, {unread} not read")

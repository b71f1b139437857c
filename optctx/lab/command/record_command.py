"""`optctx record`: shows the options that LLVM reads for a file, and those set that it does not read."""

from __future__ import annotations

import argparse
import pickle
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from optctx import OptionContext, record
from optctx.errors import OptctxError
from optctx.facts import text
from optctx.fresh import Job, compile_job
from optctx.fresh.children import endings
from optctx.fresh.helper import cause_of_end
from optctx.lab.command.console import complain_printed, put, say, show
from optctx.lab.command.files import naming_module
from optctx.lab.command.groups import Base, Input, add_file, add_out
from optctx.lab.lookup import Recorded
from optctx.lab.settings import add_flags, taken
from optctx.tables import table

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser

__all__ = ["add", "run"]

_SECONDS = 1e6  # that LLVM may take: no limit that a compilation reaches


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "record",
        description="Compile a file once in a process of its own. Show every option that LLVM reads, with "
        "its value and the functions that read it, and every option set by --set that LLVM does not read, "
        "with the likely cause. Exit status 2 for bad input.",
        example="optctx record kernel.ll --set unroll-count=4 --set hexagon-initial-cfg-cleanup=false\n"
        "optctx record kernel.ll --passes 'default<O1>' --format json > read.json",
    )
    add_file(parser)
    add_flags(parser, Input, "input")
    add_flags(parser, Base, "options of LLVM")
    parser.add_argument(
        "--unread-only", action="store_true", help="show only what was set and not read, with the cause"
    )
    add_out(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compile, and print the options that were read. Raises OptctxError and OSError."""
    base = taken(arguments, Base)
    context = base.context()
    job = replace(taken(arguments, Input).under(base).job(arguments.file), emit="object")
    with naming_module(arguments.file):
        found = _in_child(context, job, arguments.file)
    if arguments.unread_only:
        found = Recorded((), found.unread)
    match arguments.format:
        case "json":
            put(found.as_json())
        case "csv":
            put(found.as_csv(), end="")
        case _:
            _print(found)
    return 0


def _in_child(context: OptionContext, job: Job, path: str) -> Recorded:
    """Compile in a child, because what LLVM prints has names of the module in it, and LLVM may end it."""
    [ending] = endings([(path, lambda: _recorded(context, job))], jobs=1, seconds=_SECONDS)
    printed = ending.said.decode(errors="replace")
    if not ending.data:
        raise OptctxError(f"cannot compile {path}: LLVM crashed: {cause_of_end(ending.status, printed)}")
    found = pickle.loads(ending.data)
    complain_printed(Counter(line for line in printed.splitlines() if line.strip()))
    if isinstance(found, str):
        raise OptctxError(found)
    assert isinstance(found, Recorded)
    return found


def _recorded(context: OptionContext, job: Job) -> Recorded | str:
    """What LLVM read, or why it does not compile the job."""
    try:
        with context, record() as log:
            result = compile_job(job)
        return Recorded.of(log) if result.error is None else result.error
    except OptctxError as error:
        return str(error)


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

"""`optctx record`: shows the options that LLVM reads for a file, and those set that it does not read."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from optctx.cli.compiling import add_job_arguments, job_of
from optctx.cli.console import output
from optctx.cli.files import naming_module
from optctx.cli.settings import add_settings, parse_settings
from optctx.context import OptionContext
from optctx.errors import OptctxError
from optctx.fresh import compile_job
from optctx.records import Log, log_as_csv, log_as_json, log_summary, read_cells, record
from optctx.registry.values import value_text

if TYPE_CHECKING:
    from argparse import _SubParsersAction
    from collections.abc import Sequence

    from optctx.cli.parser import Parser

__all__ = ["add", "run"]


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "record",
        help="show which options LLVM reads for a file",
        description="Compile a file once in this process. Show every option that LLVM reads, with its value "
        "and the functions that read it, and every option set by --set that LLVM does not read, with the "
        "likely cause. Exit status 2 for bad input.",
        example="optctx record kernel.ll --set unroll-count=4 --set hexagon-initial-cfg-cleanup=false\n"
        "optctx record kernel.ll --passes 'default<O1>' --format json > read.json",
    )
    add_job_arguments(parser)
    add_settings(parser, "an LLVM option to set; repeat for more")
    parser.add_argument(
        "--unread-only", action="store_true", help="show only what was set and not read, with the cause"
    )
    parser.add_argument(
        "--format", choices=("table", "json", "csv"), default="table", help="how to print (default: table)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compile, and print the options that were read. Raises OptctxError and OSError."""
    context = OptionContext(parse_settings(arguments.settings), process_wide="exclusive")
    job = replace(job_of(arguments), emit="object")
    with context, record() as log:
        result = compile_job(job)
    if result.error is not None:
        with naming_module(arguments.file):
            raise OptctxError(result.error)
    match arguments.format:
        case "json":
            print(log_as_json(log, unread_only=arguments.unread_only))
        case "csv":
            print(log_as_csv(log, unread_only=arguments.unread_only), end="")
        case _:
            _print(log, arguments.unread_only)
    return 0


def _print(log: Log, unread_only: bool) -> None:
    reads, unread = log.reads, log.unread
    console = output()
    if reads and not unread_only:
        console.print(
            _table(("option", "value", "read by"), [read_cells(read) for read in reads.values()]), ""
        )
    if unread:
        rows = [(each.name, value_text(each.value), each.cause) for each in unread]
        console.print(_table(("override", "value", "not read because"), rows), "")
    print(log_summary(len(reads), len(unread)))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=heading in ("option", "override"))
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # no markup in names and values
    return table

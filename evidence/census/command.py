"""`python -m evidence census`: where LLVM's options are stored, and which code reads them how."""

from __future__ import annotations

import argparse
import fnmatch
from typing import TYPE_CHECKING

from evidence.census.counts import totals
from evidence.census.readers import take_census
from evidence.census.tables import OPTION_HEADINGS, option_cells, totals_lines
from optctx.errors import OptctxError, shown
from optctx.lab.command.console import say, show
from optctx.lab.rich_table import Table

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "census",
        help="show how LLVM stores and reads its options",
        description="Count, for every option of the LLVM that llvmlite loads, the instructions that read, "
        "write or take the address of its storage, and the functions that have them. Exit status 2 for bad "
        "input.",
        example="python -m evidence census --totals\npython -m evidence census --options 'unroll-*'",
    )
    parser.add_argument("--options", metavar="GLOB", default="*", help="only options with such names")
    parser.add_argument("--totals", action="store_true", help="print the totals only")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Take, and print. Raises OptctxError and OSError."""
    found = take_census().only(lambda name: fnmatch.fnmatchcase(name, arguments.options))
    if not found.options:
        raise OptctxError(
            f"no option matches {shown(arguments.options)}; `optctx options` shows every option"
        )
    if not arguments.totals:
        rows = [option_cells(option) for option in found.options if not option.facts.alias_of]
        show(Table(OPTION_HEADINGS, rows, whole=("option",)))
        say("")
    say(found.title, "", *totals_lines(totals(found)))
    return 0

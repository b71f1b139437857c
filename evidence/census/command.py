"""`python -m evidence census`: where LLVM's options are stored, and which code reads them how."""

from __future__ import annotations

import argparse
import fnmatch
from dataclasses import replace
from typing import TYPE_CHECKING

from evidence.census.counts import flags, totals, totals_lines
from evidence.census.readers import CountedOption, take_census
from optctx.errors import OptctxError, shown
from optctx.lab.command.console import say, show
from optctx.lab.tables import Table

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser

_HEADINGS = ("option", "type", "storage", "functions", "loads", "stores", "addresses", "scope", "notes")
_NOTED = (
    "never read",
    "readers not known",
    "read only in constructors",
    "copied once",
    "written by LLVM",
    "callback",
    "occurrences queried",
)


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
    taken = take_census()
    wanted = (each for each in taken.options if fnmatch.fnmatchcase(each.facts.name, arguments.options))
    found = replace(taken, options=tuple(wanted))
    if not found.options:
        raise OptctxError(
            f"no option matches {shown(arguments.options)}; `optctx options` shows every option"
        )
    if not arguments.totals:
        rows = [_cells(option) for option in found.options if not option.facts.alias_of]
        show(Table(_HEADINGS, rows))
        say("")
    say(found.title, "", *totals_lines(totals(found)))
    return 0


def _cells(option: CountedOption) -> tuple[str, ...]:
    """The cells of an option's row."""
    readers = "?" if option.readers is None else str(len(option.functions))
    notes = [flag for flag in flags(option) if flag in _NOTED]
    numbers = [str(option.sum(what)) for what in ("loads", "stores", "addresses")]
    own = option.facts
    return (own.name, own.type, own.storage, readers, *numbers, own.scope, ", ".join(notes))

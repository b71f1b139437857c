"""`python -m evidence census`: where LLVM's options are stored, and which code reads them how."""

from __future__ import annotations

import argparse
import fnmatch
from typing import TYPE_CHECKING

from evidence.census.plot import save_census_plot
from evidence.census.tables import OPTION_HEADINGS, census_title, option_cells, totals_lines
from optctx.errors import OptctxError, shown
from optctx.lab.census import Census, census, census_as_json, compare, load_census
from optctx.lab.census.compare import difference_as_json, difference_lines
from optctx.lab.census.saved import MOST_BYTES, census_as_csv
from optctx.lab.command.console import encodable, put, say, show
from optctx.lab.command.files import read_file
from optctx.plots import check_plot
from optctx.tables import table

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser

__all__ = ["add", "run"]


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "census",
        help="show how LLVM stores and reads its options",
        description="Count, for every option of the LLVM that llvmlite loads, the instructions that read, "
        "write or take the address of its storage, and the functions that have them. Two files that "
        "`--format json` made are compared instead. Exit status 2 for bad input.",
        example="python -m evidence census --totals\npython -m evidence census --format json > new.json\n"
        "python -m evidence census old.json new.json",
    )
    parser.add_argument("files", nargs="*", metavar="FILE.json", help="an old and a new census to compare")
    parser.add_argument("--options", metavar="GLOB", default="*", help="only options with such names")
    parser.add_argument("--totals", action="store_true", help="print the totals only")
    parser.add_argument(
        "--format", choices=("table", "json", "csv"), default="table", help="how to print (default: table)"
    )
    parser.add_argument(
        "--plot", metavar="FILE", help="draw options by library and type into a .png, .svg or .pdf"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Take or compare, and print. Raises OptctxError and OSError."""
    if arguments.files:
        return _compare(arguments)
    if arguments.plot:
        check_plot(arguments.plot)
    found = _only(census(), arguments.options)
    if not found.options:
        raise OptctxError(f"no option matches {shown(arguments.options)}; `optctx list` shows every option")
    match arguments.format:
        case "json":
            put(census_as_json(found))
        case "csv":
            put(census_as_csv(found), end="")
        case _:
            if not arguments.totals:
                rows = [option_cells(facts) for facts in found.options]
                show(table(OPTION_HEADINGS, rows, whole=("option",)))
                say("")
            say(census_title(found), "", *totals_lines(found.totals))
    if arguments.plot:
        save_census_plot(found, arguments.plot)
    return 0


def _only(found: Census, pattern: str) -> Census:
    return found.only(lambda facts: any(fnmatch.fnmatchcase(name, pattern) for name in facts.names))


def _compare(arguments: argparse.Namespace) -> int:
    if arguments.plot:
        raise OptctxError("cannot plot a comparison; leave out --plot")
    if arguments.format == "csv":
        raise OptctxError("cannot print a comparison as csv; use --format json")
    if len(arguments.files) != 2:
        raise OptctxError(
            f"expected two files to compare, found {len(arguments.files)}; "
            "`python -m evidence census --format json > FILE` makes one"
        )
    old, new = (
        _only(
            load_census(read_file(path, "a census as JSON", MOST_BYTES), encodable(path)), arguments.options
        )
        for path in arguments.files
    )
    found = compare(old, new)
    if arguments.format == "json":
        put(difference_as_json(found))
    else:
        say(*difference_lines(found))
    return 0
